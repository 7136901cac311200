"""The command of an agent process: arguments, environment and directory.

The `agents` package determines it (which program, where installed, which environment); the bridge runs it.
`env` is the complete environment of the process, not an addition to that of the server.
"""

from __future__ import annotations


class LaunchSpec:
    __slots__ = ("argv", "cwd", "env")

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], cwd: str) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
