"""The values of `--warm`: `AGENT=COUNT` or `AGENT=COUNT@DIRECTORY`, separated by commas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sandbox_agent.settings import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 100


class WarmTarget(NamedTuple):
    agent: str
    processes: int
    cwd: str | None = None
    """The directory of the processes; None is that of an instance without `?cwd=`."""


def parse_targets(values: Iterable[str]) -> tuple[WarmTarget, ...]:
    """Raises SettingsError."""
    parts = [part.strip() for value in values for part in value.split(",") if part.strip()]
    return tuple(_parse(part) for part in parts)


def _parse(text: str) -> WarmTarget:
    agent, equals, rest = text.partition("=")
    count, at, directory = rest.partition("@")
    if not agent or not equals or not count.isascii() or not count.isdigit() or int(count) > _MOST:
        raise SettingsError(f"--warm must be AGENT=COUNT with a count of at most {_MOST}, not '{text}'")
    if at and not directory.startswith("/"):
        raise SettingsError(f"--warm: the directory must be absolute, not '{directory}'")
    return WarmTarget(agent, int(count), directory or None)
