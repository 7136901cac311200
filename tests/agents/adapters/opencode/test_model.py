"""OpenCode's own config decides its model and mode, unless the client sets them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.agents.adapters.recipes import NATIVE_RECIPES, adapter_of
from tests.real_agents.fake_model import FakeModel

pytestmark = [pytest.mark.timeout(300), pytest.mark.clause("spec3-opencode-http-server")]


@pytest.mark.parametrize("configured", ["first", "second"])
async def test_model_of_the_config_is_used_until_the_client_sets_another(
    program: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    configured: str,
) -> None:
    recipe = NATIVE_RECIPES["opencode-native"]
    config: dict[str, Any] = json.loads(recipe.env["OPENCODE_CONFIG_CONTENT"])
    fake = config["provider"]["fake"]
    (described,) = fake["models"].values()
    fake["models"] = {"first": described, "second": described}
    config |= {"model": f"fake/{configured}", "small_model": f"fake/{configured}", "default_agent": "plan"}
    monkeypatch.setitem(recipe.env, "OPENCODE_CONFIG_CONTENT", json.dumps(config))
    other = "second" if configured == "first" else "first"
    with FakeModel() as model:
        async with adapter_of("opencode", program("opencode"), model, tmp_path) as adapter:
            await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
            opened = (await adapter.call("session/new", cwd=str(tmp_path / "work"), mcpServers=[]))["result"]
            current = {option["id"]: option["currentValue"] for option in opened["configOptions"]}
            assert current == {"model": f"fake/{configured}", "mode": "plan"}
            session = opened["sessionId"]
            await adapter.prompt(session, "hello")
            assert model.was_sent(f'"model": "{configured}"') and not model.was_sent(f'"model": "{other}"')
            choice = {"sessionId": session, "configId": "model", "value": f"fake/{other}"}
            await adapter.call("session/set_config_option", **choice)
            await adapter.prompt(session, "hello again")
            assert model.was_sent(f'"model": "{other}"')
