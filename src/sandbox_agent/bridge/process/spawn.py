"""Start a program with three pipes, in a session of its own.

`posix_spawn` is used where possible, because it shares the server's memory until the program runs. It cannot
change the directory or the user, nor search the child's PATH; `subprocess` is used for those.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.inherited_descriptors import closing_inherited

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Python ignores these signals; other programs expect their default, which is to exit.
DEFAULT_SIGNALS = (signal.SIGPIPE, signal.SIGXFSZ)


class SpawnedProcess:
    """The pid of a started program and the server's non-blocking ends of its pipes."""

    __slots__ = ("pid", "stderr", "stdin", "stdout")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def close(self) -> None:
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


def spawn(
    argv: tuple[str, ...], env: Mapping[str, str], cwd: str, other_user: Mapping[str, Any]
) -> SpawnedProcess:
    """Raises OSError or ValueError when the program cannot be started."""
    uses_posix_spawn = "/" in argv[0] and not other_user and _is_current(cwd)
    pipes: list[int] = []
    try:
        for _ in range(3):
            pipes += os.pipe()
        child_in, stdin, stdout, child_out, stderr, child_err = pipes
        for fd in (stdin, stdout, stderr):
            os.set_blocking(fd, False)
        children = (child_in, child_out, child_err)
        if uses_posix_spawn:
            pid = _posix(argv, env, children)
        else:
            pid = _popen(argv, env, cwd, other_user, children)
    except BaseException:
        for fd in pipes:
            os.close(fd)
        raise
    for fd in children:
        os.close(fd)
    return SpawnedProcess(pid, stdin, stdout, stderr)


def _is_current(directory: str) -> bool:
    try:
        return directory == os.getcwd()
    except OSError:
        return False  # The server's directory was removed.


def _posix(argv: tuple[str, ...], env: Mapping[str, str], children: tuple[int, int, int]) -> int:
    return os.posix_spawn(
        argv[0],
        argv,
        env,
        file_actions=[
            *((os.POSIX_SPAWN_DUP2, fd, number) for number, fd in enumerate(children)),
            *closing_inherited(),
        ],
        setsid=True,
        setsigdef=DEFAULT_SIGNALS,
    )


def _popen(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str,
    other_user: Mapping[str, Any],
    children: tuple[int, int, int],
) -> int:
    import subprocess  # loaded on first use: it takes 10 ms

    stdin, stdout, stderr = children
    popen = subprocess.Popen(  # noqa: S603 - running agents is what this program is for
        argv,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=env,
        cwd=cwd,
        start_new_session=True,
        **other_user,
    )
    # `AgentProcess` waits for the process; Popen must neither reap it nor warn.
    popen.returncode = 0
    return popen.pid
