"""Mode, model, thought level and other options of a live session.

Values are checked against those the agent offers before anything is sent, so an error lists the allowed
values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox_agent.sdk.errors import (
    MethodNotFoundError,
    RpcError,
    SandboxAgentError,
    UnsupportedSessionCategoryError,
    UnsupportedSessionValueError,
)
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config import permission_modes
from sandbox_agent.sdk.session.config.config_options import (
    MODELS_OPTION,
    ConfigOption,
    OptionValue,
    check_value,
    mode_ids,
    need_category,
    option_by_category,
    option_by_id,
    parse_options,
    with_current_mode,
    with_current_value,
)


@dataclass(frozen=True, slots=True)
class InitialConfig:
    """The configuration requested for a new session."""

    mode: str | None = None
    model: str | None = None
    thought_level: str | None = None
    permission_mode: str | None = None
    options: Mapping[str, OptionValue] = field(default_factory=dict)


class SessionConfig:
    """Reads and changes the configuration of one session."""

    def __init__(self, channel: SessionChannel) -> None:
        self._channel = channel

    @property
    def options(self) -> list[ConfigOption]:
        return parse_options(self._channel.record.config_options)

    @property
    def modes(self) -> list[str]:
        """The modes the agent offers, as `modes` or as a config option."""
        option = option_by_category(self.options, "mode")
        return list(option.values) if option is not None else mode_ids(self._channel.record.modes)

    @property
    def current_mode(self) -> str | None:
        option = option_by_category(self.options, "mode")
        if option is not None and isinstance(option.current_value, str):
            return option.current_value
        current = (self._channel.record.modes or {}).get("currentModeId")
        return current if isinstance(current, str) else None

    def current(self, category: str) -> str | None:
        """The current value of the option of a category, or None."""
        option = option_by_category(self.options, category)
        return option.current_value if option and isinstance(option.current_value, str) else None

    async def set_mode(self, mode: str) -> None:
        option = option_by_category(self.options, "mode")
        if option is not None:
            check_value(option, mode)
            try:
                await self._send_option(option.id, mode)
                return
            except MethodNotFoundError:
                if mode not in mode_ids(self._channel.record.modes):
                    raise
        known = mode_ids(self._channel.record.modes)
        if not known:
            raise UnsupportedSessionCategoryError("mode", [one.category or one.id for one in self.options])
        if mode not in known:
            raise UnsupportedSessionValueError("mode", mode, known)
        await self._channel.outgoing.request(
            "session/set_mode", {"sessionId": self._channel.native_id, "modeId": mode}
        )
        self._channel.change(modes=with_current_mode(self._channel.record.modes, mode))

    async def set_category(self, category: str, value: str) -> None:
        """Set the option of a category such as `model` or `thought_level`."""
        option = need_category(self.options, category)
        check_value(option, value)
        await self._send_option(option.id, value)

    async def set_option(self, config_id: str, value: OptionValue) -> None:
        option = option_by_id(self.options, config_id)
        check_value(option, value)
        await self._send_option(config_id, value)

    async def apply(self, initial: InitialConfig) -> dict[str, str]:
        """Configure a new session; returns what the agent has no setting for (`_meta` has it as a hint)."""
        missing = await self._apply_modes(initial.mode, initial.permission_mode)
        for category, value in (("model", initial.model), ("thought_level", initial.thought_level)):
            if value is None:
                continue
            if option_by_category(self.options, category):
                await self.set_category(category, value)
            else:
                missing[category] = f"the agent has no {category} option"
        for config_id, setting in initial.options.items():
            await self.set_option(config_id, setting)
        return missing

    async def _apply_modes(self, mode: str | None, permission_mode: str | None) -> dict[str, str]:
        """Set both; most agents have one setting for the two, and then the one that says more is set."""
        missing: dict[str, str] = {}
        own = None if permission_mode is None else permission_modes.own_option(permission_mode, self.options)
        as_mode = (
            None if permission_mode is None else permission_modes.equivalent(permission_mode, self.modes)
        )
        if own is not None:
            await self._send_option(own[0].id, own[1])
        elif as_mode is not None and permission_modes.is_neutral(mode, self.current_mode):
            try:
                await self.set_mode(as_mode)
            except RpcError as error:
                missing["permission_mode"] = str(error)
            else:
                mode = None
        elif permission_mode not in (None, "default"):
            if as_mode is None:
                offered = ", ".join(self.modes) or "none"
                missing["permission_mode"] = f"the agent offers no such mode; it has {offered}"
            elif as_mode != mode:
                missing["permission_mode"] = f"the agent has one setting for both, and its mode is {mode}"
        if mode is not None and self.modes:
            await self.set_mode(mode)
        elif mode is not None:
            missing["mode"] = "the agent has no modes"
        return missing

    async def apply_again(self, options: list[ConfigOption], mode: str | None) -> dict[str, str]:
        """Set the values from before a restore again; returns those the agent refused, and why."""
        refused: dict[str, str] = {}
        for wanted in options:
            present = next((one for one in self.options if one.id == wanted.id), None)
            value = wanted.current_value
            if present is None or value is None or present.current_value == value:
                continue
            try:
                await self.set_option(wanted.id, value)
            except SandboxAgentError as error:
                refused[wanted.id] = str(error)
        if mode is not None and self.current_mode not in (None, mode):
            try:
                await self.set_mode(mode)
            except SandboxAgentError as error:
                refused["mode"] = str(error)
        return refused

    async def _send_option(self, config_id: str, value: OptionValue) -> None:
        if config_id == MODELS_OPTION:
            params = {"sessionId": self._channel.native_id, "modelId": value}
            await self._channel.outgoing.request("session/set_model", params)
            known = with_current_value(self._channel.record.config_options, config_id, value)
            self._channel.change(config_options=known)
            return
        wanted: dict[str, Any] = {"sessionId": self._channel.native_id, "configId": config_id, "value": value}
        if isinstance(value, bool):
            wanted["type"] = "boolean"
        elif self._channel.instance is not None and self._channel.instance.is_v2:
            wanted["type"] = "id"
        result = await self._channel.outgoing.request("session/set_config_option", wanted)
        if isinstance(result, Mapping) and isinstance(result.get("configOptions"), list):
            self._channel.incoming.note_options(result)
        else:
            self._channel.change(
                config_options=with_current_value(self._channel.record.config_options, config_id, value)
            )
