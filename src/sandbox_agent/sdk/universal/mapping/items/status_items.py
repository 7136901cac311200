"""Updates besides messages and tools: some are items, facts about the session are `session.updated`.

Plans, notices and compactions are drawn in a conversation. Usage, modes, options, commands, titles and the
state describe the session.
An update of an unknown kind is an item of kind `unknown`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.universal.event_data import SessionUpdatedData
from sandbox_agent.sdk.universal.items import JsonPart, StatusPart
from sandbox_agent.sdk.universal.json_reading import as_dict, as_int, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle
from sandbox_agent.sdk.universal.meta import item_facts

_LONGEST_DETAIL = 200
"""The detail is one line for display; the JSON part of the item has the whole update."""


def _plan(update: dict[str, Any]) -> str | None:
    entries = [as_dict(entry) for entry in as_list(update.get("entries"))]
    done = sum(entry.get("status") == "completed" for entry in entries)
    return f"{done} of {len(entries)} done"


def _plan_update(update: dict[str, Any]) -> str | None:
    plan = as_dict(update.get("plan"))
    if plan.get("type") == "items":
        return _plan(plan)
    return as_text(plan.get("planId")) or as_text(plan.get("type"))


def _usage(update: dict[str, Any]) -> str | None:
    used, size = as_int(update.get("used")), as_int(update.get("size"))
    return None if used is None or size is None else f"{used} of {size} tokens"


def _options(update: dict[str, Any]) -> str | None:
    options = [as_dict(option) for option in as_list(update.get("configOptions"))]
    # ACP v2 has the id as `configId`.
    values = [(option.get("id", option.get("configId")), option.get("currentValue")) for option in options]
    return ", ".join(f"{key}={v if isinstance(v, str) else json_text(v)}" for key, v in values) or None


def _commands(update: dict[str, Any]) -> str | None:
    names = [as_text(as_dict(command).get("name")) for command in as_list(update.get("availableCommands"))]
    return ", ".join(f"/{name}" for name in names if name) or None


_DETAIL: dict[str, Callable[[dict[str, Any]], str | None]] = {
    "plan": _plan,
    "plan_update": _plan_update,
    "plan_removed": lambda update: as_text(update.get("planId")),
    "usage_update": _usage,
    "current_mode_update": lambda update: as_text(update.get("currentModeId")),
    "config_option_update": _options,
    "available_commands_update": _commands,
    "session_info_update": lambda update: as_text(update.get("title")),
    "notice": lambda update: as_text(update.get("title")),
    "compaction_update": lambda update: as_text(update.get("status")),
    "compaction_summary_chunk": lambda update: as_text(as_dict(update.get("content")).get("text")),
    "state_update": lambda update: as_text(update.get("state")),
    "terminal_update": lambda update: as_text(update.get("command")),
    "terminal_output_chunk": lambda update: as_text(update.get("terminalId")),
}


_SHOWN = ("plan", "plan_update", "plan_removed", "notice", "compaction_update")


def add_notice(out: Emitter, items: ItemLifecycle, kind: str, update: dict[str, Any]) -> None:
    """Map an update that belongs to no message and no tool call."""
    facts = item_facts(update)
    if kind not in _DETAIL:
        item = items.create("unknown", None, facts=facts)
        items.whole(item, [JsonPart(update)], "completed", synthetic=False)
        return
    detail = _DETAIL[kind](update)
    if detail is not None and len(detail) > _LONGEST_DETAIL:
        detail = detail[: _LONGEST_DETAIL - 1] + "…"
    if kind not in _SHOWN:
        out.emit("session.updated", SessionUpdatedData(kind, detail, update))
        return
    item = items.create("status", None, facts=facts)
    items.whole(item, [StatusPart(kind, detail), JsonPart(update)], "completed", synthetic=False)
