"""A descriptor that becomes readable when a child process exits.

It is a pidfd. Where the kernel, a sandbox or Python has none, it is the end of a pipe whose other end is
closed by a thread that waits for the child.
"""

from __future__ import annotations

import errno
import os

_NOTHING_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM})


def open_exit_descriptor(pid: int) -> int:
    """The descriptor for the child `pid`. Raises OSError if there is no descriptor or thread left."""
    try:
        return os.pidfd_open(pid)
    except AttributeError:
        pass  # Python was built without it.
    except OSError as error:
        if error.errno in _NOTHING_LEFT:
            raise
    return _watch_in_thread(pid)


def _watch_in_thread(pid: int) -> int:
    import threading

    read_end, write_end = os.pipe()

    def wait() -> None:
        try:
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        except ChildProcessError:
            pass  # Other code has reaped it.
        os.close(write_end)

    try:
        threading.Thread(target=wait, name=f"exit-of-{pid}", daemon=True).start()
    except RuntimeError as error:
        os.close(read_end)
        os.close(write_end)
        raise OSError(errno.EAGAIN, str(error)) from error
    return read_end
