"""How a server process is started by this program."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Literal


@dataclass(frozen=True, slots=True)
class SpawnOptions:
    """The options of `spawn` and `LocalProvider`."""

    host: str = "127.0.0.1"
    port: int | None = None
    token: str | None = None
    binary_path: str | None = None
    timeout: float = 15.0
    log: Literal["silent", "inherit", "pipe"] = "silent"
    """`inherit` writes to this program's stderr, `pipe` to the logger `sandbox_agent.server`."""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    args: Sequence[str] = ()
    """Further arguments of the `server` command."""

    @classmethod
    def of(cls, given: object) -> SpawnOptions:
        """The options of `spawn`: themselves, a mapping with their names, or True and None for the defaults.

        Raises `TypeError` for anything else, and `ValueError` for a port that does not exist.
        """
        if given is None or given is True:
            return cls()
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise TypeError(f"spawn must be True, False, SpawnOptions or a mapping, not {given!r}")
        known = [option.name for option in fields(cls)]
        if unknown := [str(name) for name in given if name not in known]:
            raise TypeError(f"spawn has no option {', '.join(unknown)}; it has {', '.join(known)}")
        port = given.get("port")
        if port is not None and (isinstance(port, bool) or not isinstance(port, int)):
            raise TypeError(f"the port of spawn must be a whole number, not {port!r}")
        if port is not None and not 0 <= port <= 65535:
            raise ValueError(f"the port of spawn must be from 0 (any free port) to 65535, not {port}")
        return cls(**given)
