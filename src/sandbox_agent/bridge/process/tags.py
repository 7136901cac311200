"""Which processes belong to which agent, whatever they do to hide.

Every agent gets a mark that all its descendants inherit: the soft RLIMIT_LOCKS, a limit that the kernel has
ignored since 2.6, set to a number of our own. Unlike environment, session, descriptors or parent it survives
`setsid`, double forks, `env -i` and `closefrom`, and /proc shows it for every process. Where the kernel does
not let us set it (some sandboxes), a variable in the environment takes its place.

This module imports next to nothing: the guardian runs it in a bare interpreter.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RLIMIT_LOCKS = 10
ENV_MARK = "SANDBOX_AGENT_MARK"
# A mark is the server's random number and below it the number of the instance.
_INSTANCE_BITS = 24
_NONCE_BITS = 62 - _INSTANCE_BITS


def new_server_mark() -> int:
    """A random number that tells this server's processes from those of any other."""
    return (1 << (_NONCE_BITS - 1)) | (int.from_bytes(os.urandom(8), "big") >> (65 - _NONCE_BITS))


def instance_mark(server_mark: int, number: int) -> int:
    return server_mark << _INSTANCE_BITS | number & (1 << _INSTANCE_BITS) - 1


def server_of(mark: int) -> int:
    return mark >> _INSTANCE_BITS


def mark_process(pid: int, mark: int) -> None:
    """Mark a process that was just started; what it starts from now on inherits the mark.

    What it managed to start before, in its first microseconds, carries the mark in its environment.
    """
    import resource

    try:
        _, hard = resource.prlimit(pid, RLIMIT_LOCKS)
        resource.prlimit(pid, RLIMIT_LOCKS, (mark, hard))
    except (OSError, ValueError):
        pass  # It is gone already, or the kernel does not let us: the environment has to do.


def mark_of(pid: int) -> int | None:
    """The mark a process carries; None if it carries none or is gone."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as limits:
            for line in limits:
                if line.startswith(b"Max file locks"):
                    soft = line[26:].split(None, 1)[0]
                    if soft.isdigit():
                        return int(soft)
                    break
        return _mark_in_environment(pid)
    except (OSError, ValueError, IndexError):
        return None


def _mark_in_environment(pid: int) -> int | None:
    wanted = ENV_MARK.encode() + b"="
    with open(f"/proc/{pid}/environ", "rb") as environ:
        for entry in environ.read().split(b"\0"):
            if entry.startswith(wanted):
                return int(entry[len(wanted) :])
    return None


class _Stat:
    """The few fields of /proc/<pid>/stat that matter here."""

    __slots__ = ("parent", "started", "state")

    def __init__(self, pid: int) -> None:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
        self.state = fields[0]
        self.parent = int(fields[1])
        self.started = int(fields[19])


def name_of_dead(pid: int) -> tuple[int, int] | None:
    """Pid and starting tick of a process that has ended and was not collected yet."""
    try:
        stat = _Stat(pid)
    except (OSError, ValueError, IndexError):
        return None
    return (pid, stat.started) if stat.state == b"Z" else None


Found = dict[int, int]
"""Processes by pid, with the tick at which each started: together they name a process for ever."""


class Snapshot:
    """All living processes at one moment, with their marks."""

    def __init__(self) -> None:
        self._stats: dict[int, _Stat] = {}
        self._marks: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        own = os.getpid()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == own:
                continue
            pid = int(entry)
            try:
                stat = _Stat(pid)
            except OSError:
                continue  # It ended while we looked.
            if stat.state in (b"Z", b"X"):
                continue
            self._stats[pid] = stat
            self._children.setdefault(stat.parent, []).append(pid)
            mark = mark_of(pid)
            if mark is not None:
                self._marks[pid] = mark

    def tree(self, belongs: Callable[[int], bool]) -> Found:
        """Processes whose mark belongs, and all their descendants (which may have another mark)."""
        found: Found = {}
        todo = [pid for pid, mark in self._marks.items() if belongs(mark)]
        while todo:
            pid = todo.pop()
            if pid not in found:
                found[pid] = self._stats[pid].started
                todo += self._children.get(pid, ())
        return found


def send_signal(found: Found, number: int) -> None:
    """Signal through a pidfd, so that a pid that was reused in the meantime is never hit."""
    for pid, started in found.items():
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if _Stat(pid).started == started:
                signal.pidfd_send_signal(fd, number)
        except OSError:
            pass  # It is gone, or not ours to signal: the next look finds it again, or not.
        finally:
            os.close(fd)
