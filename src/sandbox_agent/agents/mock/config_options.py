"""The config options of a mock session, in the two forms of ACP.

`configOptions` is the full list (model, mode, thought level); `modes` is the older form, for modes only.
"""

from __future__ import annotations

from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError
from sandbox_agent.jsonrpc_error_codes import INVALID_PARAMS

# id (also the category): name, then the values with their names; the first value is the default.
OPTIONS: dict[str, tuple[str, dict[str, str]]] = {
    "model": ("Model", {"mock": "Mock", "mock-fast": "Mock Fast"}),
    "mode": ("Mode", {"normal": "Normal", "plan": "Plan"}),
    "thought_level": ("Thought level", {"low": "Low", "medium": "Medium", "high": "High"}),
}


def default_values() -> dict[str, str]:
    return {option: next(iter(values)) for option, (_, values) in OPTIONS.items()}


def check_value(option: object, value: object) -> tuple[str, str]:
    """The pair, if the option has this value.

    Raises:
        JsonRpcError: there is no such option, or it has no such value.
    """
    if not isinstance(option, str) or option not in OPTIONS:
        raise JsonRpcError(INVALID_PARAMS, f"Unknown config option: {option!r}", {"known": list(OPTIONS)})
    values = OPTIONS[option][1]
    if not isinstance(value, str) or value not in values:
        raise JsonRpcError(INVALID_PARAMS, f"Unknown {option}: {value!r}", {"known": list(values)})
    return option, value


def config_options(current: dict[str, str]) -> list[Json]:
    return [
        {
            "id": option,
            "name": name,
            "category": option,
            "type": "select",
            "currentValue": current[option],
            "options": [{"value": value, "name": label} for value, label in values.items()],
        }
        for option, (name, values) in OPTIONS.items()
    ]


def modes(current: dict[str, str]) -> Json:
    values = OPTIONS["mode"][1]
    return {
        "currentModeId": current["mode"],
        "availableModes": [{"id": mode, "name": name} for mode, name in values.items()],
    }


def config_update(current: dict[str, str]) -> Json:
    return {"sessionUpdate": "config_option_update", "configOptions": config_options(current)}


def mode_update(current: dict[str, str]) -> Json:
    return {"sessionUpdate": "current_mode_update", "currentModeId": current["mode"]}
