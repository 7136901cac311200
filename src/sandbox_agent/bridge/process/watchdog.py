"""The process that cleans up when the server itself is killed.

While all is well it is a sleeping shell at the other end of a pipe, which costs a megabyte. When the pipe
closes without a farewell the shell becomes a Python that kills everything carrying the server's mark.
It lives in a session of its own and ignores the signals people send to servers.
"""

from __future__ import annotations

import os
import signal
import sys
import time

from sandbox_agent.bridge.process import tags
from sandbox_agent.bridge.process.inherited_descriptors import closing_inherited
from sandbox_agent.bridge.process.spawn import BACK_TO_DEFAULT
from sandbox_agent.runtime.package_path import PACKAGE_PARENT

_FAREWELL = b"bye\n"
_SHELL = """cd /; trap '' HUP INT TERM; read -r word; [ "$word" = bye ] && exit 0; exec "$@" """
_CLEANUP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from sandbox_agent.bridge.process.watchdog import main; main()"
)
_GIVE_UP_AFTER_S = 10.0


class Watchdog:
    """The server's handle on its guardian."""

    def __init__(self, server_mark: int) -> None:
        cleanup = [sys.executable, "-I", "-S", "-c", _CLEANUP, PACKAGE_PARENT, str(server_mark)]
        read_end, self._pipe = os.pipe()
        try:
            self.pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _SHELL, "sandbox-agent-guardian", *cleanup],
                {name: value for name, value in os.environ.items() if name != "SANDBOX_AGENT_TOKEN"},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, read_end, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
                    *closing_inherited(),
                ],
                setsid=True,
                setsigdef=BACK_TO_DEFAULT,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(read_end)

    def dismiss(self) -> None:
        """The server has cleaned up by itself."""
        try:
            os.write(self._pipe, _FAREWELL)
        except OSError:
            pass  # The guardian was killed; nothing is left to dismiss.
        os.close(self._pipe)
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass  # It was collected already.


def main() -> None:
    """Kill until nothing that carries the mark is left. Runs as the cleaning-up guardian."""
    server_mark = int(sys.argv[2])

    def belongs(mark: int) -> bool:
        return tags.server_of(mark) == server_mark

    deadline = time.monotonic() + _GIVE_UP_AFTER_S
    while time.monotonic() < deadline:
        found = tags.Snapshot().tree(belongs)
        if not found:
            return
        tags.send_signal(found, signal.SIGKILL)
        time.sleep(0.02)
