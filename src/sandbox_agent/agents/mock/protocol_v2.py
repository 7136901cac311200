"""ACP v2 (draft): the scripts' updates, requests and options in its form. Plain data, no side effects.

The scripts are written in the terms of v1. In v2 a tool call has one kind of update, every message has an id,
a plan has an id, modes are options, and a diff is a patch.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.updates import new_uuid

VERSION = 2
CAPABILITIES: Json = {
    "session": {
        "prompt": {"image": {}, "audio": {}, "embeddedContext": {}},
        "mcp": {"stdio": {}, "http": {}},
        "delete": {},
    }
}
PLAN_ID = "plan"


class UpdatesV2:
    """Translates the updates of all sessions; remembers the id of each session's current thought."""

    def __init__(self) -> None:
        self._thoughts: dict[str, str] = {}

    def of(self, session_id: str, update: Json) -> list[Json]:
        """The updates to send instead; a mode is only an option in v2."""
        kind = update["sessionUpdate"]
        if kind != "agent_thought_chunk":
            self._thoughts.pop(session_id, None)
        if kind == "agent_thought_chunk":
            return [{"messageId": self._thoughts.setdefault(session_id, new_uuid()), **update}]
        if kind in ("user_message_chunk", "agent_message_chunk"):
            return [{**update, "messageId": update.get("messageId") or new_uuid()}]
        if kind in ("tool_call", "tool_call_update"):
            return [{**tool_call(update), "sessionUpdate": "tool_call_update"}]
        if kind == "plan":
            plan = {"type": "items", "planId": PLAN_ID, "entries": update["entries"]}
            return [{"sessionUpdate": "plan_update", "plan": plan}]
        if kind == "available_commands_update":
            return [{**update, "availableCommands": [_command(one) for one in update["availableCommands"]]}]
        if kind == "config_option_update":
            return [{**update, "configOptions": config_options(update["configOptions"])}]
        return [] if kind == "current_mode_update" else [update]


def tool_call(call: Json) -> Json:
    """The fields of a tool call; its name is a field of its own."""
    changed = dict(call)
    name = (call.get("_meta") or {}).get("toolName")
    if name is not None:
        changed["name"] = name
    if isinstance(call.get("content"), list):
        changed["content"] = [_content(one) for one in call["content"]]
    return changed


def permission_params(params: Json) -> Json:
    call = tool_call(params["toolCall"])
    kept = {key: value for key, value in params.items() if key != "toolCall"}
    return {**kept, "title": str(call.get("title")), "subject": {"type": "tool_call", "toolCall": call}}


def config_options(options: list[Json]) -> list[Json]:
    return [{"configId" if key == "id" else key: value for key, value in one.items()} for one in options]


def session_result(result: Json) -> Json:
    """The result of `session/new` and `session/resume`: modes are options."""
    changed: Json = {key: value for key, value in result.items() if key != "modes"}
    if "configOptions" in changed:
        changed["configOptions"] = config_options(changed["configOptions"])
    return changed


def state(name: str, **more: Any) -> Json:
    return {"sessionUpdate": "state_update", "state": name, **more}


def _command(command: Json) -> Json:
    if "input" not in command:
        return {"type": "command", **command}
    return {"type": "command", **command, "input": {"type": "text", **command["input"]}}


def _content(content: Json) -> Json:
    if content.get("type") != "diff":
        return content
    path, old, new = content["path"], content["oldText"], content["newText"]
    import difflib  # 5 ms, only for diffs

    before = "/dev/null" if old is None else path
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True), new.splitlines(keepends=True), before, path
    )
    text = f"diff --git {path} {path}\n" + "".join(lines)
    change = {"operation": "add" if old is None else "modify", "path": path}
    return {"type": "diff", "changes": [change], "patch": {"format": "git_patch", "text": text}}
