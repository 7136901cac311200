"""The watchdog: a process that kills the agents when the server itself is killed.

Normally it is a shell that waits at the other end of a pipe, which costs 1 MB. When the pipe closes without a
dismissal, the shell executes a Python that kills every process with the server's tag or in its control
groups, and those that the server has named. The watchdog runs in a session of its own and ignores SIGHUP,
SIGINT and SIGTERM. `WatchdogKeeper` replaces one that was killed.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process import own_processes
from sandbox_agent.bridge.process.inherited_descriptors import closing_inherited
from sandbox_agent.bridge.process.inherited_environment import inherited_environment
from sandbox_agent.bridge.process.spawn import DEFAULT_SIGNALS
from sandbox_agent.bridge.process.tree import control_group, process_table, tags
from sandbox_agent.runtime.package_path import PACKAGE_PARENT

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.tree.process_table import Found

_DISMISSAL = b"bye\n"
# Every line but the dismissal replaces the list of processes that hide their tag.
_SHELL = """cd /; trap '' HUP INT TERM; hidden=
while read -r line; do [ "$line" = bye ] && exit 0; hidden=$line; done
exec "$@" $hidden"""
_CLEANUP = (
    "import sys; sys.path.insert(0, sys.argv[1]); "
    "from sandbox_agent.bridge.process.watchdog import main; main()"
)
_LIMIT_S = 10.0
# A line with so many processes is short enough to be written as a whole or not at all.
_MOST_NAMED = 150


class Watchdog:
    """The server's handle of its watchdog process."""

    def __init__(self, server_tag: int) -> None:
        cleanup = [sys.executable, "-I", "-S", "-c", _CLEANUP, PACKAGE_PARENT, str(server_tag)]
        read_end, self._pipe = os.pipe()
        os.set_blocking(self._pipe, False)
        try:
            self.pid = os.posix_spawn(
                "/bin/sh",
                ["/bin/sh", "-c", _SHELL, "sandbox-agent-watchdog", *cleanup],
                inherited_environment(os.environ),
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
        own_processes.pids.add(self.pid)

    def name_hidden(self, hidden: Found) -> None:
        """Name the processes that belong to agents and do not show it; they replace those named before."""
        named = [f"{pid}:{started}" for pid, started in hidden.items()]
        self._write(" ".join(named[:_MOST_NAMED]).encode() + b"\n")

    def dismiss(self) -> None:
        """End the watchdog: the server has stopped its agents itself."""
        self._write(_DISMISSAL)
        try:
            os.kill(self.pid, signal.SIGCONT)
        except OSError:
            pass  # It was killed.
        self.reap()

    def _write(self, line: bytes) -> None:
        try:
            os.write(self._pipe, line)
        except OSError:
            pass  # The watchdog was killed, or was stopped and the pipe is full.

    def reap(self) -> None:
        """Wait for its exit and release what belongs to it."""
        os.close(self._pipe)
        try:
            os.waitpid(self.pid, 0)
        except ChildProcessError:
            pass  # It was reaped already.
        own_processes.pids.discard(self.pid)


def main() -> None:
    """Kill the agents' processes until none is left. Runs in the process of the watchdog."""
    server_tag = int(sys.argv[2])
    hidden = [tuple(map(int, process.split(":"))) for process in sys.argv[3:]]
    group = control_group.directory_of_server(server_tag)

    def belongs(tag: int) -> bool:
        return tags.server_of(tag) == server_tag

    deadline = time.monotonic() + _LIMIT_S
    while time.monotonic() < deadline:
        emptied = group is None or control_group.kill_and_remove(group)
        snapshot = process_table.Snapshot()
        found = snapshot.with_descendants([*snapshot.tagged(belongs), *snapshot.still_there(hidden)])
        if emptied and not found:
            return
        process_table.send_signal(found, signal.SIGKILL)
        time.sleep(0.02)
