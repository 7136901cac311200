"""Find the tool an agent offers for a purpose, and fill its arguments from its JSON schema.

Each agent has its own tool names; the schemas describe the arguments. Only required fields and those that
take the directive's argument are filled.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

_NAMES = {
    "shell": (
        *("bash", "exec_command", "run_shell_command", "shell", "terminal", "execute", "shell_command"),
        *(
            "run_command",
            "execute_command",
            "execute_bash",
            "developer__shell",
            "run_terminal_command",
            "run_terminal_cmd",
        ),
    ),
    "write": (
        *("write", "write_file", "create_file", "create", "write_text_file", "edit_file", "text_editor"),
        *("apply_patch", "search_replace"),
    ),
    "read": ("read", "read_file", "view", "read_text_file"),
    "ask": ("askuserquestion", "request_user_input", "question", "ask_user_question", "ask_user"),
    "plan": ("todowrite", "update_plan", "todo_write", "write_todos", "todo", "todo__todo_write"),
}
_COMMAND = ("command", "cmd", "script", "code", "shell_command")
_PATH = ("file_path", "path", "filePath", "absolute_path", "target_file", "filename")
_CONTENT = ("content", "contents", "file_text", "text", "new_string", "data")


@dataclass(frozen=True)
class Tool:
    name: str
    schema: dict[str, Any] = field(default_factory=dict)
    namespace: str | None = None
    """Of the Responses API: a call to an inner tool names it."""
    is_custom: bool = False
    """Takes free text instead of JSON."""


def call_for(purpose: str, argument: str, tools: list[Tool]) -> tuple[Tool, dict[str, Any]] | None:
    """The tool for `purpose` and its arguments."""
    tool = _find(_NAMES[purpose], tools)
    if tool is None:
        return None
    known: dict[str, Any] = {}
    if purpose == "shell":
        known = dict.fromkeys(_COMMAND, argument)
        # Codex asks the user only for commands that must leave its sandbox.
        known |= {"sandbox_permissions": "require_escalated", "justification": "the script says so"}
    elif purpose == "write":
        path, _, content = argument.partition(" ")
        known = dict.fromkeys(_PATH, path) | dict.fromkeys(_CONTENT, content) | {"old_string": ""}
    elif purpose == "read":
        known = dict.fromkeys(_PATH, argument)
    elif purpose == "ask":
        known = {"question": argument, "header": "Choice", "id": "choice", "label": ["Red", "Blue"]}
    else:
        known = {"content": "first step", "step": "first step", "status": "pending"}
    return tool, fill(tool.schema, known)


def _find(names: tuple[str, ...], tools: list[Tool]) -> Tool | None:
    for name in names:
        for tool in tools:
            if tool.name.lower() == name or tool.name.lower().rpartition("__")[2] == name:
                return tool
    return None


def fill(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """An object of `schema` with the known fields it has, and everything it requires."""
    value = _value(schema, "", known, schema)
    return value if isinstance(value, dict) else {}


def _value(schema: dict[str, Any], name: str, known: dict[str, Any], root: dict[str, Any]) -> Any:
    schema = _resolved(schema, root)
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "string")
    if name in known and kind not in ("object", "array"):
        value = known[name]
        return value[0] if isinstance(value, list) else value
    if name in known and kind == "array" and isinstance(known[name], str):
        return ["bash", "-c", known[name]] if name in _COMMAND else [known[name]]
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object" or "properties" in schema:
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        wanted = [key for key in properties if key in required or key in known]
        return {key: _value(properties[key], key, known, root) for key in wanted}
    if kind == "array":
        return _items(schema, name, known, root)
    if kind in ("integer", "number"):
        return schema.get("minimum", 1)
    return False if kind == "boolean" else name or "text"


def _items(schema: dict[str, Any], name: str, known: dict[str, Any], root: dict[str, Any]) -> list[Any]:
    """Options of a question differ by label; other lists get the least number of equal items."""
    item = schema.get("items", {})
    labels = known.get("label")
    if name == "options" and isinstance(labels, list):
        return [_value(item, "label", known | {"label": label}, root) for label in labels]
    least = max(1, schema.get("minItems", 1))
    return [_value(item, "", known, root) for _ in range(least)]


def _resolved(schema: dict[str, Any], root: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        schema = target
    for key in ("anyOf", "oneOf", "allOf"):
        for branch in schema.get(key, ()):
            if branch.get("type") != "null":
                rest = {k: v for k, v in schema.items() if k != key}
                return rest | _resolved(branch, root)
    return schema
