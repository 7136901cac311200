"""Mode and permission mode of a new session: both kept where the agent can, and what cannot be is said."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent

# An agent whose modes and options come from a file beside it; some modes are refused.
AGENT = """
import json, sys
offers = json.loads(open(sys.argv[1]).read())
if "starts" in offers:
    open(offers["starts"], "a").write("started\\n")
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
for line in sys.stdin:
    message = json.loads(line)
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        send(id=message["id"], result={"protocolVersion": 1, "agentCapabilities": {}})
    elif method == "session/new":
        modes = [{"id": mode, "name": mode} for mode in offers["modes"]]
        result = {"sessionId": "s", "configOptions": offers.get("options")}
        if modes:
            result["modes"] = {"currentModeId": offers["modes"][0], "availableModes": modes}
        send(id=message["id"], result={key: value for key, value in result.items() if value is not None})
    elif method == "session/set_mode" and params["modeId"] in offers.get("refuses", []):
        send(id=message["id"], error={"code": -32603, "message": "not as root"})
    elif "id" in message:
        send(id=message["id"], result={})
"""
CLAUDE = ["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"]
CODEX = ["read-only", "workspace-write", "agent", "agent-full-access"]
SANDBOX = {
    "id": "sandbox",
    "name": "Sandbox",
    "type": "select",
    "currentValue": "ask",
    "options": [{"value": "ask", "name": "Ask"}, {"value": "bypass", "name": "Bypass"}],
}


async def create(client: AsyncSandboxAgent, tmp_path: Path, offers: Mapping[str, Any], **options: Any) -> Any:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "offers.json").write_text(json.dumps(offers))
    launcher = tmp_path / "data/sandbox-agent/bin/agent_processes/amp-acp"
    launcher.write_text(f"#!/bin/sh\nexec python3 {tmp_path}/agent.py {tmp_path}/offers.json\n")
    return await client.sessions.create("amp", **options)


@pytest.mark.clause("spec2-3.1-permission-mode")
@pytest.mark.parametrize(
    ("modes", "mode", "permission_mode", "in_force", "said"),
    [
        (CLAUDE, "plan", "default", "plan", None),
        (CLAUDE, "plan", "plan", "plan", None),
        (CLAUDE, None, "bypass", "bypassPermissions", None),
        (CLAUDE, "default", "bypass", "bypassPermissions", None),
        (CLAUDE, None, "acceptEdits", "acceptEdits", None),
        (CLAUDE, "plan", "bypass", "plan", "one setting for both"),
        (CLAUDE, None, "careful", "default", "acceptEdits"),
        (CODEX, None, "bypass", "agent-full-access", None),
        (CODEX, None, "plan", "read-only", None),
        (CODEX, "agent", "default", "agent", None),
        (["read-only", "auto", "full-access"], None, "bypass", "full-access", None),
        # In the mode `auto` of Claude a model decides; the one of Goose is a bypass.
        (["default", "plan", "auto"], None, "bypass", "default", "no such mode"),
        (
            ["auto", "approve", "smart_approve", "chat"],
            "approve",
            "bypass",
            "approve",
            "one setting for both",
        ),
        (["approve", "auto", "smart_approve", "chat"], None, "bypass", "auto", None),
        ([], None, "bypass", None, "no such mode"),
        ([], None, "default", None, None),
    ],
)
async def test_mode_and_permission_mode(
    client: AsyncSandboxAgent,
    tmp_path: Path,
    modes: list[str],
    mode: str | None,
    permission_mode: str,
    in_force: str | None,
    said: str | None,
) -> None:
    session = await create(client, tmp_path, {"modes": modes}, mode=mode, permission_mode=permission_mode)
    assert session.info.agent_mode == in_force
    assert session.info.permission_mode == (permission_mode if said is None else None)
    if said is None:
        assert not session.restored.not_applied
    else:
        assert said in session.restored.not_applied["permission_mode"]


@pytest.mark.clause("decision-56")
async def test_an_agent_without_options_is_started_once(
    client: AsyncSandboxAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMP_API_KEY", "a key, so that the server may ask the agent")
    session = await create(client, tmp_path, {"modes": [], "starts": str(tmp_path / "starts")})
    assert session.config_options == [] and session.modes == []
    for _ in range(20):
        await session.request("any/method")
    await client.agents.list()
    assert (tmp_path / "starts").read_text() == "started\n"


@pytest.mark.clause("spec2-3.1-permission-mode")
async def test_an_option_for_permissions_alone_leaves_the_mode(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    offers = {"modes": ["build", "plan"], "options": [SANDBOX]}
    session = await create(client, tmp_path, offers, mode="plan", permission_mode="bypass")
    assert session.info.agent_mode == "plan" and not session.restored.not_applied
    assert [option.current_value for option in session.config_options] == ["bypass"]


@pytest.mark.clause("spec2-3.1-permission-mode")
async def test_what_the_agent_refuses_is_said(
    client: AsyncSandboxAgent, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    offers = {"modes": CLAUDE, "refuses": ["bypassPermissions"]}
    with caplog.at_level(logging.WARNING, "sandbox_agent"):
        session = await create(
            client, tmp_path, offers, permission_mode="bypass", model="x", thought_level="high"
        )
    assert session.info.agent_mode == "default" and session.info.permission_mode is None
    assert "not as root" in session.restored.not_applied["permission_mode"]
    assert set(session.restored.not_applied) == {"permission_mode", "model", "thought_level"}
    assert "not as root" in caplog.text
