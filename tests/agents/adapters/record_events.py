"""Record the events of a vendor's program: `python -m tests.agents.adapters.record_events NAME FILE`.

Runs the adapter NAME around the program FILE against the fake model, with a few turns, and writes each native
event as a line of JSON to stdout. Long texts of the vendor and paths of this machine are removed.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.agents.adapters.adapter_process import AdapterProcess
from tests.agents.adapters.recipes import NATIVE_RECIPES
from tests.real_agents.driver import allow
from tests.real_agents.fake_model import FakeModel

_HOOK = """
import json, sys
from sandbox_agent.agents.adapters import main as adapter_main
from sandbox_agent.agents.adapters.common.native_process import NativeProcess
from sandbox_agent.agents.adapters.opencode.opencode_server import OpenCodeServer
record = open(sys.argv.pop(), "a")
handle_line, events = NativeProcess._handle_line, OpenCodeServer.events
def recorded_line(self, line):
    record.write(line.decode()); record.flush(); handle_line(self, line)
async def recorded_events(self, directory):
    async for event in events(self, directory):
        record.write(json.dumps(event) + chr(10)); record.flush()
        yield event
NativeProcess._handle_line, OpenCodeServer.events = recorded_line, recorded_events
adapter_main.main(sys.argv[1:])
"""
_TURNS = (
    "[[think pondering]] [[say Hello from the model]]",
    "[[shell touch {home}/touched && printf 'hello-%s' from-the-tool]] [[say done]]",
    "[[write {home}/project/new.txt fresh]] [[say written]]",
    "[[ask Which colour?]]",
    "[[plan]]",
)
_DROPPED = re.compile(r"thread/settings/updated|\"plugin\.added\"|opencode server listening")


async def record(name: str, program: Path, base: str, home: Path) -> list[str]:
    recipe = NATIVE_RECIPES[f"{name}-native"]
    work, output = home / "project", home / "record"
    work.mkdir()
    env = {key: value.replace("{base}", base) for key, value in recipe.env.items()} | {"HOME": str(home)}
    env |= {"OPENCODE_DISABLE_AUTOUPDATE": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    adapter = AdapterProcess(name, program, work, env)
    adapter._argv = [sys.executable, "-c", _HOOK, name, "--program", str(program), str(output)]
    adapter.policies = {"session/request_permission": allow, "elicitation/create": _red}
    async with adapter:
        session = await adapter.begin({"elicitation": {"form": {}}})
        if recipe.mode_for_tools:
            await adapter.call("session/set_mode", sessionId=session, modeId=recipe.mode_for_tools)
        for turn in _TURNS:
            await adapter.prompt(session, turn.replace("{home}", str(home)))
    text = output.read_text().replace(str(home), "/srv/user")
    return re.sub(r"/tmp/[\w./-]+", "/srv/user/file", text).splitlines()  # noqa: S108 - a pattern


def _red(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": {next(iter(params["requestedSchema"]["properties"])): "Red"}}


def cleaned(line: str) -> str | None:
    """The line without long or secret parts; None if it is not an event."""
    if _DROPPED.search(line):
        return None
    try:
        event = json.loads(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or event.get("type") == "control_response":
        return None
    if "id" in event and "result" in event:
        return None  # the answer to a request of ours
    if event.get("subtype") == "init":
        event |= {"tools": [], "slash_commands": [], "skills": [], "agents": [], "plugins": []}
    if event.get("subtype") == "informational":
        event["content"] = "a word of warning"
    return json.dumps(event)


def main() -> None:
    name, program = sys.argv[1], Path(sys.argv[2])
    with FakeModel() as model, tempfile.TemporaryDirectory() as home:
        os.environ["IS_SANDBOX"] = ""
        lines = asyncio.run(record(name, program, model.base, Path(home)))
    for line in lines:
        if kept := cleaned(line):
            print(kept)


if __name__ == "__main__":
    main()
