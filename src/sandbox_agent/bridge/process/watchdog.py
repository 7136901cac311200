"""The watchdog: a process that kills the agents when the server itself is killed.

Normally it is a shell that waits at the other end of a pipe, which costs 1 MB. When the pipe closes without a
dismissal, the shell executes a Python that kills every process with the server's tag. The watchdog runs in a
session of its own and ignores SIGHUP, SIGINT and SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from sandbox_agent.bridge.process import tags
from sandbox_agent.bridge.process.inherited_descriptors import closing_inherited
from sandbox_agent.bridge.process.spawn import DEFAULT_SIGNALS
from sandbox_agent.runtime.package_path import PACKAGE_PARENT

_DISMISSAL = b"bye\n"
_SHELL = """cd /; trap '' HUP INT TERM; read -r word; [ "$word" = bye ] && exit 0; exec "$@" """
_CLEANUP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from sandbox_agent.bridge.process.watchdog import main; main()"
)
_LIMIT_S = 10.0


class Watchdog:
    """The server's handle of its watchdog process."""

    def __init__(self, server_tag: int) -> None:
        cleanup = [sys.executable, "-I", "-S", "-c", _CLEANUP, PACKAGE_PARENT, str(server_tag)]
        read_end, self._pipe = os.pipe()
        try:
            self.pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _SHELL, "sandbox-agent-watchdog", *cleanup],
                {name: value for name, value in os.environ.items() if name != "SANDBOX_AGENT_TOKEN"},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, read_end, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                    *closing_inherited(),
                ],
                setsid=True,
                setsigdef=DEFAULT_SIGNALS,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(read_end)

    def dismiss(self) -> None:
        """End the watchdog: the server has stopped its agents itself."""
        try:
            os.write(self._pipe, _DISMISSAL)
        except OSError:
            pass  # The watchdog was killed.
        os.close(self._pipe)
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass  # It was reaped already.


def main() -> None:
    """Kill tagged processes until none is left. Runs in the process of the watchdog."""
    server_tag = int(sys.argv[2])

    def belongs(tag: int) -> bool:
        return tags.server_of(tag) == server_tag

    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        found = tags.Snapshot().tree(belongs)
        if not found:
            return
        tags.send_signal(found, signal.SIGKILL)
        time.sleep(0.02)
