"""Config options of a session: modes, models, thought levels and others, as the agent reports them.

Pure functions. Agents differ: some have `modes`, some only config options of category `mode`, some both;
values may be flat or in groups. Models that an agent has only in `models` become an option of their own,
which is set with `session/set_model`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.errors import (
    UnsupportedSessionCategoryError,
    UnsupportedSessionConfigOptionError,
    UnsupportedSessionValueError,
)

OptionValue = str | bool
MODELS_OPTION = "sandboxagent.dev/models"
"""The id of the option made of an agent's `models`; no agent knows it."""


@dataclass(frozen=True, slots=True)
class ConfigOption:
    """One option the agent offers."""

    id: str
    name: str
    category: str | None
    type: str
    current_value: OptionValue | None
    values: tuple[str, ...]
    """The allowed values; empty for a switch."""


def v1_options(raw: Any) -> Any:
    """`configOptions` with the `id` of version 1; version 2 calls it `configId`."""
    if not isinstance(raw, list):
        return raw
    return [
        {"id": one["configId"], **one} if isinstance(one, Mapping) and "configId" in one else one
        for one in raw
    ]


def parse_options(raw: Iterable[Any] | None) -> list[ConfigOption]:
    """The options in an agent's `configOptions`."""
    return [
        ConfigOption(
            id=str(one.get("id")),
            name=str(one.get("name") or one.get("id")),
            category=one.get("category"),
            type=str(one.get("type") or "select"),
            current_value=one.get("currentValue"),
            values=tuple(_values(one.get("options") or [])),
        )
        for one in raw or []
        if isinstance(one, Mapping) and one.get("id") is not None
    ]


def with_models(raw: Sequence[Any] | None, models: Any) -> list[Any] | None:
    """`configOptions` with the agent's `models` as an option, if there is no other option for the model."""
    if not isinstance(models, Mapping) or option_by_category(parse_options(raw), "model") is not None:
        return None if raw is None else list(raw)
    offered = [one for one in models.get("availableModels") or [] if isinstance(one, Mapping)]
    option = {
        "id": MODELS_OPTION,
        "name": "Model",
        "category": "model",
        "type": "select",
        "currentValue": models.get("currentModelId"),
        "options": [{"value": one.get("modelId"), "name": one.get("name")} for one in offered],
    }
    return [*(raw or ()), option]


def models_option(raw: Sequence[Any] | None) -> list[Any]:
    """The option made of an agent's `models`, if there is one."""
    return [one for one in raw or () if isinstance(one, Mapping) and one.get("id") == MODELS_OPTION]


def option_by_id(options: Sequence[ConfigOption], config_id: str) -> ConfigOption:
    """The option with this id; the error lists the known ids."""
    for option in options:
        if option.id == config_id:
            return option
    raise UnsupportedSessionConfigOptionError(config_id, [option.id for option in options])


def option_by_category(options: Sequence[ConfigOption], category: str) -> ConfigOption | None:
    """The first option of a category; an option without a category is matched by its id."""
    by_category = (option for option in options if option.category == category)
    by_id = (option for option in options if option.id == category and option.category is None)
    return next(by_category, None) or next(by_id, None)


def need_category(options: Sequence[ConfigOption], category: str) -> ConfigOption:
    """The option of a category; the error lists the known categories."""
    option = option_by_category(options, category)
    if option is None:
        raise UnsupportedSessionCategoryError(category, [one.category or one.id for one in options])
    return option


def check_value(option: ConfigOption, value: OptionValue) -> None:
    """Raise `UnsupportedSessionValueError` with the allowed values if `value` is not one of them."""
    if option.type == "boolean":
        if not isinstance(value, bool):
            raise UnsupportedSessionValueError(option.id, value, ["true", "false"])
    elif option.values and value not in option.values:
        raise UnsupportedSessionValueError(option.category or option.id, value, option.values)


def mode_ids(modes: Mapping[str, Any] | None) -> list[str]:
    """The ids of the modes in an agent's `modes`."""
    available = (modes or {}).get("availableModes") or []
    return [str(mode.get("id")) for mode in available if isinstance(mode, Mapping)]


def with_current_mode(modes: Mapping[str, Any] | None, mode: str) -> dict[str, Any] | None:
    """`modes` after a change of mode."""
    return None if modes is None else {**modes, "currentModeId": mode}


def with_current_value(raw: Sequence[Any] | None, config_id: str, value: OptionValue) -> list[Any] | None:
    """`configOptions` after a change that the agent did not report."""
    if raw is None:
        return None
    return [
        {**one, "currentValue": value} if isinstance(one, Mapping) and one.get("id") == config_id else one
        for one in raw
    ]


def _values(options: Iterable[Any]) -> Iterable[str]:
    for option in options:
        if not isinstance(option, Mapping):
            continue
        if "options" in option:
            yield from _values(option["options"] or [])
        elif "value" in option:
            yield str(option["value"])
