"""Record what a vendor's program says: `python -m tests.agents.adapters.record NAME FILE > NAME.jsonl`.

Runs the adapter of NAME around the program FILE against the fake model, with a few turns, and writes every
native event as a line of JSON to stdout. Long texts of the vendor and paths of this machine are taken out.
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
from sandbox_agent.agents.adapters import native_process, opencode_server, entry
record = open(sys.argv.pop(), "a")
take, events = native_process.NativeProcess._take, opencode_server.OpenCodeServer.events
def heard(self, line):
    record.write(line.decode()); record.flush(); take(self, line)
async def followed(self, directory):
    async for event in events(self, directory):
        record.write(json.dumps(event) + chr(10)); record.flush()
        yield event
native_process.NativeProcess._take, opencode_server.OpenCodeServer.events = heard, followed
entry.main(sys.argv[1:])
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
    """The line without what is long, secret or no event."""
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
