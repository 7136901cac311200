"""Start a program in a terminal of its own."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sandbox_agent.terminals.launch import TerminalSize

# The standard library has no name for it: backspace deletes a character, not a byte.
_IUTF8 = 0o40000
# A session leader without a terminal that opens one gets it as its controlling terminal. posix_spawn and
# Popen have no way to ask for that, and code between fork and exec is not safe in a program with threads.
_TAKE_TERMINAL = ': <>"$0"; exec "$@"'


def spawn_in_terminal(
    argv: Sequence[str],
    env: Mapping[str, str],
    cwd: str,
    other_user: Mapping[str, Any],
    size: TerminalSize,
) -> tuple[int, int]:
    """The pid and the non-blocking master of the terminal. Raises OSError or ValueError."""
    import subprocess  # with the first terminal

    master, slave = os.openpty()
    try:
        os.set_blocking(master, False)
        attributes = termios.tcgetattr(slave)
        attributes[0] |= _IUTF8
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        resize(slave, size)
        if other_user:
            os.fchown(slave, other_user["user"], -1)
        popen = subprocess.Popen(  # noqa: S603 - running programs is what this is for
            ("/bin/sh", "-c", _TAKE_TERMINAL, os.ttyname(slave), *argv),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=env,
            cwd=cwd,
            start_new_session=True,
            **other_user,
        )
    except BaseException:
        os.close(master)
        raise
    finally:
        os.close(slave)
    popen.returncode = 0  # `UserProcess` waits for it; Popen must neither reap it nor warn.
    return popen.pid, master


def resize(terminal: int, size: TerminalSize) -> None:
    """Set the size; the kernel sends SIGWINCH to the foreground group if it has changed."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", size.rows, size.cols, 0, 0))
