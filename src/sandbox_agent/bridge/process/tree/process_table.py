"""The process table: what /proc says about processes, and signals to exactly the processes that were found.

The watchdog runs this module in an isolated interpreter, so it imports only a few standard modules.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree import tags

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Found = dict[int, int]
"""Start ticks of processes by pid; pid and start tick together identify a process."""


class ProcessStat:
    """The few fields of /proc/<pid>/stat that matter here."""

    __slots__ = ("parent", "session", "started", "state")

    def __init__(self, pid: int) -> None:
        """Raises OSError if the process has exited."""
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        self.state = fields[0]
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.started = int(fields[19])


def zombie_identity(pid: int) -> tuple[int, int] | None:
    """Pid and start tick of a process that has ended and was not reaped yet."""
    try:
        stat = ProcessStat(pid)
    except (OSError, ValueError, IndexError):
        return None
    return (pid, stat.started) if stat.state == b"Z" else None


def own_children() -> list[int]:
    """The children of this process, ended ones that were not reaped included.

    Raises OSError if there is no descriptor left.
    """
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", "rb") as listing:
                children += map(int, listing.read().split())
        except FileNotFoundError:
            if os.path.exists(f"/proc/self/task/{thread}"):
                return _children_by_parent()  # This kernel has no such file.
        except ProcessLookupError:
            continue  # The thread has ended meanwhile.
    return children


def adopted_children() -> list[int]:
    """The children of the main thread, and all that this process has adopted: the kernel gives orphans to the
    first thread of their new parent. Reading every thread takes 0.02 ms for each.

    Raises OSError if there is no descriptor left.
    """
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", "rb") as listing:
            return [*map(int, listing.read().split())]
    except FileNotFoundError:
        return _children_by_parent()  # This kernel has no such file.


def _children_by_parent() -> list[int]:
    own = os.getpid()
    children = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and ProcessStat(int(entry)).parent == own:
                children.append(int(entry))
        except (FileNotFoundError, ProcessLookupError):
            continue  # It has exited meanwhile.
    return children


class Snapshot:
    """All living processes at one moment, with their tags."""

    def __init__(self) -> None:
        self._stats: dict[int, ProcessStat] = {}
        self._tags: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        self._own = os.getpid()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == self._own:
                continue
            pid = int(entry)
            try:
                stat = ProcessStat(pid)
            except OSError:
                continue  # It exited meanwhile.
            if stat.state in (b"Z", b"X"):
                continue
            self._stats[pid] = stat
            self._children.setdefault(stat.parent, []).append(pid)
            tag = tags.tag_of(pid)
            if tag is not None:
                self._tags[pid] = tag

    def tagged(self, belongs: Callable[[int], bool]) -> list[int]:
        """Processes whose tag satisfies `belongs`."""
        return [pid for pid, tag in self._tags.items() if belongs(tag)]

    def still_there(self, processes: Iterable[tuple[int, ...]]) -> list[int]:
        """The living ones of processes that are named by pid and start tick."""
        return [
            pid for pid, started in processes if pid in self._stats and self._stats[pid].started == started
        ]

    def children_in_other_sessions(self) -> Iterable[tuple[int, ProcessStat, int | None]]:
        """Pid, stat and tag of the children of this process that have left its session."""
        session = os.getsid(0)
        for pid in self._children.get(self._own, ()):
            if self._stats[pid].session != session:
                yield pid, self._stats[pid], self._tags.get(pid)

    def with_descendants(self, roots: Iterable[int]) -> Found:
        """The living ones of the processes and all their descendants, which may have another tag."""
        found: Found = {}
        todo = [pid for pid in roots if pid in self._stats]
        while todo:
            pid = todo.pop()
            if pid not in found:
                found[pid] = self._stats[pid].started
                todo += self._children.get(pid, ())
        return found


def send_signal(found: Found, number: int) -> None:
    """Signal processes; a pid that was reused meanwhile is not hit."""
    for pid, started in found.items():
        try:
            _send_to_one(pid, started, number)
        except OSError:
            pass  # It has exited, or may not be signalled; the next snapshot shows which.


def _send_to_one(pid: int, started: int, number: int) -> None:
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (OSError, AttributeError):
        # No pidfds in this kernel, sandbox or Python, or no descriptor left.
        if ProcessStat(pid).started == started:
            os.kill(pid, number)
        return
    try:
        if ProcessStat(pid).started == started:
            signal.pidfd_send_signal(fd, number)
    finally:
        os.close(fd)
