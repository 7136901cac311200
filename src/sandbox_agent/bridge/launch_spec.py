"""What the bridge needs to know to start an agent: nothing more than a process's own arguments.

The agents room works it out (which program, installed where, with which environment); the bridge only
runs it. `env` is the whole environment of the child, not an addition to the server's.
"""

from __future__ import annotations


class LaunchSpec:
    __slots__ = ("argv", "cwd", "env")

    def __init__(self, argv: tuple[str, ...], env: dict[str, str], cwd: str) -> None:
        self.argv = argv
        self.env = env
        self.cwd = cwd
