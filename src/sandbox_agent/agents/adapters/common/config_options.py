"""The config options of a session: their values and the current one.

A mode is offered twice, as ACP requires: in `modes` and as the config option `mode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from acp.schema import (
    ConfigOptionUpdate,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
)

from sandbox_agent.agents.adapters.common import adapter_errors

Category = Literal["mode", "model", "thought_level"]


@dataclass(frozen=True)
class ConfigValue:
    id: str
    name: str
    description: str = ""


@dataclass
class ConfigOption:
    """One config option, such as the model."""

    id: str
    name: str
    current: str
    values: Sequence[ConfigValue]
    category: Category | None = None
    is_selected: bool = False
    """The client has set it; otherwise `current` is what the program does by itself."""

    def select(self, value: str) -> None:
        """Raises a `RequestError` for a value that is not offered."""
        if value not in self.value_ids():
            known = ", ".join(self.value_ids())
            raise adapter_errors.invalid_params(f"{self.id} cannot be {value!r}; known are {known}")
        self.current = value
        self.is_selected = True

    def value_ids(self) -> list[str]:
        return [value.id for value in self.values]

    def to_acp(self) -> SessionConfigOptionSelect:
        return SessionConfigOptionSelect(
            type="select",
            id=self.id,
            name=self.name,
            category=self.category,
            current_value=self.current,
            options=[
                SessionConfigSelectOption(
                    value=value.id, name=value.name, description=value.description or None
                )
                for value in self.values
            ],
        )


@dataclass
class ConfigOptions:
    """All config options of a session."""

    items: list[ConfigOption] = field(default_factory=list)

    def __getitem__(self, option_id: str) -> ConfigOption:
        for option in self.items:
            if option.id == option_id:
                return option
        known = ", ".join(option.id for option in self.items)
        raise adapter_errors.invalid_params(f"no config option {option_id!r}; known are {known}")

    def current(self, option_id: str) -> str:
        return self[option_id].current

    def modes(self) -> SessionModeState | None:
        mode = next((option for option in self.items if option.id == "mode"), None)
        if mode is None:
            return None
        return SessionModeState(
            current_mode_id=mode.current,
            available_modes=[
                SessionMode(id=value.id, name=value.name, description=value.description or None)
                for value in mode.values
            ],
        )

    def options(self) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        return [option.to_acp() for option in self.items]

    def update(self) -> ConfigOptionUpdate:
        return ConfigOptionUpdate(session_update="config_option_update", config_options=self.options())
