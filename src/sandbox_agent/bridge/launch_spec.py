"""The command of an agent process: arguments, environment and directory.

The `agents` package determines it (which program, where installed, which environment); the bridge runs it.
`env` is the complete environment of the process, not an addition to that of the server.
"""

from __future__ import annotations


class LaunchSpec:
    __slots__ = ("argv", "cwd", "env", "sigterm_at_once")

    def __init__(
        self, argv: tuple[str, ...], env: dict[str, str], cwd: str, sigterm_at_once: bool = False
    ) -> None:
        """`sigterm_at_once`: the agent is slow to exit, or never exits, when its stdin ends."""
        self.argv = argv
        self.env = env
        self.cwd = cwd
        self.sigterm_at_once = sigterm_at_once
