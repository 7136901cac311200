"""Modes and config options of a session: what there is to choose, and what is chosen.

A mode is offered twice, as ACP has it: in `modes` and as the config option `mode`.
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
class Value:
    id: str
    name: str
    description: str = ""


@dataclass
class Setting:
    """One thing to choose."""

    id: str
    name: str
    current: str
    values: Sequence[Value]
    category: Category | None = None

    def choose(self, value: str) -> None:
        """Raises a `RequestError` for a value that is not offered."""
        if value not in [known.id for known in self.values]:
            known_ids = ", ".join(known.id for known in self.values)
            raise adapter_errors.invalid(f"{self.id} cannot be {value!r}; known are {known_ids}")
        self.current = value

    def option(self) -> SessionConfigOptionSelect:
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
class Settings:
    """Everything a session lets its user choose."""

    items: list[Setting] = field(default_factory=list)

    def __getitem__(self, setting_id: str) -> Setting:
        for setting in self.items:
            if setting.id == setting_id:
                return setting
        known = ", ".join(setting.id for setting in self.items)
        raise adapter_errors.invalid(f"no config option {setting_id!r}; known are {known}")

    def current(self, setting_id: str) -> str:
        return self[setting_id].current

    def modes(self) -> SessionModeState | None:
        setting = next((item for item in self.items if item.id == "mode"), None)
        if setting is None:
            return None
        return SessionModeState(
            current_mode_id=setting.current,
            available_modes=[
                SessionMode(id=value.id, name=value.name, description=value.description or None)
                for value in setting.values
            ],
        )

    def options(self) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        return [setting.option() for setting in self.items]

    def update(self) -> ConfigOptionUpdate:
        return ConfigOptionUpdate(session_update="config_option_update", config_options=self.options())
