"""Process tags: which processes belong to which agent.

Every agent process gets a tag that all its descendants inherit: the soft RLIMIT_LOCKS, a limit that the
kernel has ignored since 2.6, set to a random number. Unlike environment, session, descriptors or parent it
survives `setsid`, double forks, `env -i` and `closefrom`, and /proc shows it for every process. Where the
kernel does not allow setting it (some sandboxes), an environment variable takes its place.

The watchdog runs this module in an isolated interpreter, so it imports only a few standard modules.
"""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

RLIMIT_LOCKS = 10
ENV_TAG = "SANDBOX_AGENT_TAG"
# A tag is the random number of the server, followed by the number of the instance in the lower bits.
_INSTANCE_BITS = 24
_NONCE_BITS = 62 - _INSTANCE_BITS


def new_server_tag() -> int:
    """A random number that distinguishes this server's processes from those of any other server."""
    return (1 << (_NONCE_BITS - 1)) | (int.from_bytes(os.urandom(8), "big") >> (65 - _NONCE_BITS))


def instance_tag(server_tag: int, number: int) -> int:
    return server_tag << _INSTANCE_BITS | number & (1 << _INSTANCE_BITS) - 1


def server_of(tag: int) -> int:
    return tag >> _INSTANCE_BITS


def tag_process(pid: int, tag: int) -> None:
    """Tag a process that was just started; processes that it starts from now on inherit the tag.

    A process that it started before, in its first microseconds, has the tag in its environment only.
    """
    import resource

    try:
        _, hard = resource.prlimit(pid, RLIMIT_LOCKS)
        resource.prlimit(pid, RLIMIT_LOCKS, (tag, hard))
    except (OSError, ValueError):
        pass  # The process has exited, or the kernel does not allow it: the variable remains.


def tag_of(pid: int) -> int | None:
    """The tag of a process; None if it has none or has exited."""
    try:
        with open(f"/proc/{pid}/limits", "rb") as limits:
            for line in limits:
                if line.startswith(b"Max file locks"):
                    soft = line[26:].split(None, 1)[0]
                    if soft.isdigit():
                        return int(soft)
                    break
        return _tag_in_environment(pid)
    except (OSError, ValueError, IndexError):
        return None


def _tag_in_environment(pid: int) -> int | None:
    wanted = ENV_TAG.encode() + b"="
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


def zombie_identity(pid: int) -> tuple[int, int] | None:
    """Pid and start tick of a process that has ended and was not reaped yet."""
    try:
        stat = _Stat(pid)
    except (OSError, ValueError, IndexError):
        return None
    return (pid, stat.started) if stat.state == b"Z" else None


Found = dict[int, int]
"""Start ticks of processes by pid; pid and start tick together identify a process."""


class Snapshot:
    """All living processes at one moment, with their tags."""

    def __init__(self) -> None:
        self._stats: dict[int, _Stat] = {}
        self._tags: dict[int, int] = {}
        self._children: dict[int, list[int]] = {}
        own = os.getpid()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == own:
                continue
            pid = int(entry)
            try:
                stat = _Stat(pid)
            except OSError:
                continue  # It exited meanwhile.
            if stat.state in (b"Z", b"X"):
                continue
            self._stats[pid] = stat
            self._children.setdefault(stat.parent, []).append(pid)
            tag = tag_of(pid)
            if tag is not None:
                self._tags[pid] = tag

    def tree(self, belongs: Callable[[int], bool]) -> Found:
        """Processes whose tag satisfies `belongs`, and all their descendants (which may have another tag)."""
        found: Found = {}
        todo = [pid for pid, tag in self._tags.items() if belongs(tag)]
        while todo:
            pid = todo.pop()
            if pid not in found:
                found[pid] = self._stats[pid].started
                todo += self._children.get(pid, ())
        return found


def send_signal(found: Found, number: int) -> None:
    """Signal through pidfds, so that a pid that was reused meanwhile is never hit."""
    for pid, started in found.items():
        try:
            fd = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if _Stat(pid).started == started:
                signal.pidfd_send_signal(fd, number)
        except OSError:
            pass  # It has exited, or may not be signalled; the next snapshot shows which.
        finally:
            os.close(fd)
