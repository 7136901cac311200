"""Versions of Amp that run their agent on Amp's server, and versions that refuse a flag."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agents.adapters.recipes import adapter_of
from tests.real_agents.fake_model import FakeModel

pytestmark = pytest.mark.timeout(300)
_NEWEST = "@sourcegraph/amp@0.0.1790142911-g7618fb"
_FUSSY = """
import json, sys
words = sys.argv[1:]
if "--help" in words:
    print("Options:\\n\\n  -x, --execute [message]\\n  --stream-json\\n  --stream-json-thinking\\n")
elif "new" in words:
    print("T-00000000-0000-0000-0000-000000000000")
elif "--stream-json-thinking" in words:
    sys.exit("Error: error: unknown option '--stream-json-thinking'")
else:
    line = {"session_id": "s", "parent_tool_use_id": None}
    content = [{"type": "text", "text": " ".join(words)}]
    print(json.dumps(line | {"type": "assistant", "message": {"role": "assistant", "content": content}}))
    print(json.dumps(line | {"type": "result", "subtype": "success", "is_error": False, "result": "x"}))
"""


@pytest.fixture(scope="session")
def newest_amp(data_home: Path) -> Path:
    """The newest version on npm as of this writing, kept beside the installed agents."""
    folder = data_home / "newest-amp"
    program = folder / "node_modules" / ".bin" / "amp"
    if not program.exists():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text(json.dumps({"private": True}))
        npm = shutil.which("npm") or "npm"
        subprocess.run(
            [npm, "install", "--no-audit", "--no-fund", _NEWEST], cwd=folder, check=True, timeout=250
        )
    return program


@pytest.mark.clause("spec3-amp-fallback-flags")
async def test_the_newest_amp_says_that_it_needs_its_server_and_what_to_do(
    newest_amp: Path, model: FakeModel, tmp_path: Path
) -> None:
    async with adapter_of("amp", newest_amp, model, tmp_path) as adapter:
        await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
        answer = await adapter.call("session/new", cwd=str(tmp_path), mcpServers=[])
    error = answer["error"]
    assert error["data"]["reason"] == "native_needs_its_server", error
    assert "thread-actors thread: 404" in error["message"], "what the server said"
    assert "sandbox-agent install-agent amp-native --reinstall" in error["message"], "what to do"


@pytest.mark.clause("spec3-amp-fallback-flags")
async def test_a_flag_that_is_refused_is_left_out(model: FakeModel, tmp_path: Path) -> None:
    program = tmp_path / "amp"
    await asyncio.to_thread(program.write_text, f"#!{sys.executable} -S\n{_FUSSY}")
    program.chmod(0o755)
    async with adapter_of("amp", program, model, tmp_path) as adapter:
        session = await adapter.begin()
        answer = await adapter.prompt(session, "hello")
    assert answer["result"]["stopReason"] == "end_turn"
    (update,) = [params["update"] for params in adapter.params("session/update")]
    assert update["content"]["text"] == f"threads continue {session} --execute --stream-json"


_SPECIFIED = """
import json, sys
words = sys.argv[1:]
if "--help" in words:
    print("Options:\\n  --print\\n  --output-format <f>\\n  --model <name>\\n      The model (opus, gpt)\\n"
          "  --continue <id>\\n  --dangerously-skip-permissions\\n")
elif words[:1] != ["--print"]:
    sys.exit("unknown command")
else:
    line = {"session_id": "s-7", "parent_tool_use_id": None}
    print(json.dumps(line | {"type": "system", "subtype": "init"}))
    content = [{"type": "text", "text": " ".join(words)}]
    print(json.dumps(line | {"type": "assistant", "message": {"role": "assistant", "content": content}}))
    print(json.dumps(line | {"type": "result", "subtype": "success", "is_error": False, "result": "x"}))
"""
_CRASHES = """
import json, sys
words = sys.argv[1:]
if "--help" in words:
    print("Options:\\n\\n  -x, --execute [message]\\n  --stream-json\\n  --stream-json-thinking\\n")
elif "new" in words:
    print("T-00000000-0000-0000-0000-000000000000")
elif "--stream-json-thinking" in words:
    sys.exit("TypeError: cannot read properties of undefined")
else:
    line = {"session_id": "s", "parent_tool_use_id": None}
    content = [{"type": "text", "text": "simpler"}]
    print(json.dumps(line | {"type": "assistant", "message": {"role": "assistant", "content": content}}))
    print(json.dumps(line | {"type": "result", "subtype": "success", "is_error": False, "result": "x"}))
"""


async def _texts(source: str, prompts: dict[str, str | None], model: FakeModel, tmp_path: Path) -> list[str]:
    """What an amp made of `source` answers to the prompts; the values are the modes to set before."""
    program = tmp_path / "amp"
    await asyncio.to_thread(program.write_text, f"#!{sys.executable} -S\n{source}")
    program.chmod(0o755)
    async with adapter_of("amp", program, model, tmp_path) as adapter:
        session = await adapter.begin()
        for prompt, mode in prompts.items():
            if mode is not None:
                await adapter.call("session/set_mode", sessionId=session, modeId=mode)
            answer = await adapter.prompt(session, prompt)
            assert answer["result"]["stopReason"] == "end_turn", answer
    updates = [params["update"] for params in adapter.params("session/update")]
    return [one["content"]["text"] for one in updates if one["sessionUpdate"] == "agent_message_chunk"]


@pytest.mark.clause("spec3-amp-subprocess-per-turn", "spec3-amp-fallback-flags")
async def test_an_amp_with_the_flags_of_the_specification_works(model: FakeModel, tmp_path: Path) -> None:
    first, second = await _texts(_SPECIFIED, {"one": None, "two": "bypass"}, model, tmp_path)
    form = "--print --output-format stream-json"
    assert first == f"{form} one"
    assert second == f"{form} --continue s-7 --dangerously-skip-permissions two"


@pytest.mark.clause("spec3-amp-fallback-flags")
async def test_a_start_that_fails_for_any_reason_is_repeated_with_simpler_flags(
    model: FakeModel, tmp_path: Path
) -> None:
    assert await _texts(_CRASHES, {"hello": None}, model, tmp_path) == ["simpler"]
