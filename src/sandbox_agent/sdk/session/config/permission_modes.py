"""The names that each agent has for the values of `permission_mode`.

`default`, `plan` and `bypass` are the values of the legacy API. Agents have settings of their own for them,
most of them as one of their modes; a value of the agent itself can be given as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sandbox_agent.sdk.session.config.config_options import ConfigOption

_EQUIVALENTS = {
    "default": ("default", "normal"),
    # Claude, Gemini, Qwen, Amp: plan; Codex: read-only.
    "plan": ("plan", "read-only"),
    # Amp: bypass; Claude: bypassPermissions; Codex: agent-full-access, older full-access; Gemini, Qwen: yolo;
    # Mistral Vibe: auto-approve.
    "bypass": ("bypass", "bypassPermissions", "agent-full-access", "full-access", "yolo", "auto-approve"),
}
# Goose, whose `auto` asks nothing; in the mode `auto` of Claude a model decides.
_GOOSE = {"auto", "approve", "smart_approve", "chat"}
# Options whose values may be spelled like a permission mode and mean something else.
_OTHER_CATEGORIES = ("model", "thought_level", "mode")


def equivalent(requested: str, offered: Iterable[str]) -> str | None:
    """The value among those offered that means the requested permission mode."""
    known = set(offered)
    names = [requested, *_EQUIVALENTS.get(requested, ())]
    if requested == "bypass" and known >= _GOOSE:
        names.append("auto")
    return next((value for value in names if value in known), None)


def own_option(requested: str, options: Sequence[ConfigOption]) -> tuple[ConfigOption, str] | None:
    """An option of the agent for permissions alone, with the value for the requested mode."""
    for option in options:
        if option.category not in _OTHER_CATEGORIES and option.id not in _OTHER_CATEGORIES:
            value = equivalent(requested, option.values)
            if value is not None:
                return option, value
    return None


def is_neutral(mode: str | None, current: str | None) -> bool:
    """Whether a mode asks for nothing that a permission mode could contradict."""
    return mode is None or mode == current or mode in _EQUIVALENTS["default"]
