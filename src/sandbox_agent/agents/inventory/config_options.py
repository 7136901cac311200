"""Models, modes and thought levels of an agent, in the form of `GET /v1/agents`.

They come from the agent's answer to `session/new`: some agents report `configOptions`, some `modes` and
`models`, some both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Option = dict[str, Any]
_NAMES = {"model": "Model", "mode": "Mode", "thought_level": "Thought Level"}


def reported_options(session: Mapping[str, Any]) -> list[Option]:
    """The options in the agent's answer to `session/new`."""
    found: dict[str, Option] = {}
    for raw in session.get("configOptions") or ():
        option = _from_config_option(raw)
        if option is not None:
            found.setdefault(option["category"], option)
    for category, option in _from_older_forms(session):
        found.setdefault(category, option)
    return [found[category] for category in _NAMES if category in found]


def models_and_modes(options: list[Option]) -> dict[str, Any]:
    """`models`, `defaultModel` and `modes`, derived from the options."""
    derived: dict[str, Any] = {}
    by_category = {option["category"]: option for option in options}
    if model := by_category.get("model"):
        derived["models"] = [{"id": choice["value"], "name": choice["name"]} for choice in model["options"]]
        if model["currentValue"]:
            derived["defaultModel"] = model["currentValue"]
    if mode := by_category.get("mode"):
        derived["modes"] = [
            {"id": choice["value"], "name": choice["name"], "description": choice.get("description") or ""}
            for choice in mode["options"]
        ]
    return derived


def _from_config_option(raw: Any) -> Option | None:
    if not isinstance(raw, dict) or raw.get("type", "select") != "select":
        return None
    category = raw.get("category") or raw.get("id")
    if category not in _NAMES:
        return None
    option = _option(category, raw.get("id"), list(_choices(raw.get("options"))), raw.get("currentValue"))
    return option | {"name": raw.get("name") or option["name"]} if option["options"] else None


def _choices(raw: Any) -> Iterator[Option]:
    """The choices of an option; a list of groups is flattened."""
    for choice in raw if isinstance(raw, list) else ():
        if not isinstance(choice, dict):
            continue
        if isinstance(choice.get("options"), list):
            yield from _choices(choice["options"])
        elif isinstance(choice.get("value"), str):
            yield _choice(choice["value"], choice)


def _choice(value: str, raw: Mapping[str, Any]) -> Option:
    choice = {"name": raw.get("name") or value, "value": value}
    if isinstance(raw.get("description"), str):
        choice["description"] = raw["description"]
    return choice


def _from_older_forms(session: Mapping[str, Any]) -> Iterator[tuple[str, Option]]:
    for category, key, items, item_id, current in (
        ("model", "models", "availableModels", "modelId", "currentModelId"),
        ("mode", "modes", "availableModes", "id", "currentModeId"),
    ):
        state = session.get(key)
        listed = state.get(items) if isinstance(state, dict) else None
        choices = [
            _choice(item[item_id], item)
            for item in (listed if isinstance(listed, list) else ())
            if isinstance(item, dict) and isinstance(item.get(item_id), str)
        ]
        if choices and isinstance(state, dict):
            yield category, _option(category, category, choices, state.get(current))


def _option(category: str, option_id: Any, choices: list[Option], current: Any) -> Option:
    return {
        "category": category,
        "currentValue": current if isinstance(current, str) else choices[0]["value"] if choices else "",
        "id": str(option_id),
        "name": _NAMES[category],
        "options": choices,
        "type": "select",
    }
