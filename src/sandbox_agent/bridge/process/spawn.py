"""Start a program with three pipes, in a session of its own.

The quick way is `posix_spawn`, which shares memory with the server until the program runs. It cannot change
the directory or the user, nor search the child's PATH; where that is asked for `subprocess` does it.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.inherited_descriptors import closing_inherited

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# Python ignores these for itself; programs expect to die of them.
BACK_TO_DEFAULT = (signal.SIGPIPE, signal.SIGXFSZ)


class Spawned:
    """A started program and the server's ends of its pipes, which do not block."""

    __slots__ = ("pid", "stderr", "stdin", "stdout")

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid = pid
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def close(self) -> None:
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


def spawn(argv: tuple[str, ...], env: Mapping[str, str], cwd: str, other_user: Mapping[str, Any]) -> Spawned:
    """Raises OSError or ValueError when the program cannot be started."""
    stays_here = "/" in argv[0] and not other_user and _is_here(cwd)
    pipes: list[int] = []
    try:
        for _ in range(3):
            pipes += os.pipe()
        child_in, stdin, stdout, child_out, stderr, child_err = pipes
        for fd in (stdin, stdout, stderr):
            os.set_blocking(fd, False)
        children = (child_in, child_out, child_err)
        pid = _posix(argv, env, children) if stays_here else _popen(argv, env, cwd, other_user, children)
    except BaseException:
        for fd in pipes:
            os.close(fd)
        raise
    for fd in children:
        os.close(fd)
    return Spawned(pid, stdin, stdout, stderr)


def _is_here(directory: str) -> bool:
    try:
        return directory == os.getcwd()
    except OSError:
        return False  # Ours was removed; the program's own may be there.


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
        setsigdef=BACK_TO_DEFAULT,
    )


def _popen(
    argv: tuple[str, ...],
    env: Mapping[str, str],
    cwd: str,
    other_user: Mapping[str, Any],
    children: tuple[int, int, int],
) -> int:
    import subprocess  # not at every start: it takes a while to load

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
    # The wait is ours; Popen must not reap or warn.
    popen.returncode = 0
    return popen.pid
