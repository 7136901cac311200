"""Groups of cgroup v2 for process trees, where the server may make them.

Each tree runs in a group of its own below the group of the server. A process cannot leave it without the
right to write to the server's group, whatever it does to its tag, and the kernel kills all members at once
(`cgroup.kill`). The move begins with the start and takes up to some milliseconds, and the process does not
wait for it: what it starts before is not in the group. Where the server may not make groups, as in most
containers, the tags find a tree.

All functions block for up to some 15 ms; the server calls them in worker threads. The watchdog runs this
module in an isolated interpreter, so it imports only a few standard modules.
"""

from __future__ import annotations

import os
import threading
import time

_REMOVE_POLL_S, _REMOVE_LIMIT_S = 0.02, 5.0


def own_group() -> str | None:
    """The directory of this process's group of cgroup v2; None if it is not mounted or not visible."""
    try:
        with open("/proc/self/cgroup", encoding="utf-8", errors="surrogateescape") as groups:
            path = next((line[3:].rstrip("\n") for line in groups if line.startswith("0::")), None)
        if path is None or ".." in path.split("/"):
            return None
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as mounts:
            for mount in mounts:
                left, _, right = mount.partition(" - ")
                if right.startswith("cgroup2 "):
                    root, place = left.split(" ")[3:5]
                    if f"{path}/".startswith(f"{root.rstrip('/')}/"):
                        return (place + path[len(root.rstrip("/")) :]).rstrip("/")
    except OSError:
        pass
    return None


def directory_of_server(server_tag: int) -> str | None:
    """The directory of the groups of a server's trees; the server's group is that of this process."""
    own = own_group()
    return None if own is None else f"{own}/sandbox-agent-{server_tag:x}"


def kill_and_remove(directory: str) -> bool:
    """Kill all processes of a group and of those below it, and remove it. False if some are still there."""
    if _try_remove(directory):
        return True
    try:
        _write(f"{directory}/cgroup.kill", "1")
    except OSError:
        pass  # The group is gone or may not be changed any more, which the next lines show.
    if not _try_remove(directory):
        if _is_populated(directory):
            return False
        _try_remove(directory)  # The last process may have exited since the attempt before.
    return True


def _try_remove(directory: str) -> bool:
    """Remove a group without processes, with those below it that the tree may have made."""
    try:
        for entry in os.scandir(directory):
            if entry.is_dir(follow_symlinks=False) and not _try_remove(entry.path):
                return False
        os.rmdir(directory)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def _is_populated(directory: str) -> bool:
    try:
        with open(f"{directory}/cgroup.events", encoding="ascii") as events:
            return "populated 1" in events.read()
    except OSError:
        return False


def _write(path: str, text: str) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


class ServerGroups:
    """The groups of all trees of one server."""

    def __init__(self, server_tag: int) -> None:
        self._server_tag = server_tag
        self._directory: str | None = None
        self._is_made = False  # or cannot be
        self._lock = threading.Lock()

    def make(self) -> str | None:
        """The directory for the groups of trees; None if the server may not make it."""
        with self._lock:
            if not self._is_made:
                self._is_made = True
                self._directory = _make(directory_of_server(self._server_tag))
            return self._directory

    @property
    def cannot_be_made(self) -> bool:
        return self._is_made and self._directory is None

    def remove(self) -> None:
        """Kill what is left in the groups and remove them."""
        if self._directory is not None:
            deadline = time.monotonic() + _REMOVE_LIMIT_S
            while not kill_and_remove(self._directory) and time.monotonic() < deadline:
                time.sleep(_REMOVE_POLL_S)


def _make(directory: str | None) -> str | None:
    if directory is None:
        return None
    try:
        os.mkdir(directory)
    except OSError:
        return None
    if os.path.exists(f"{directory}/cgroup.kill"):
        return directory
    os.rmdir(directory)  # A kernel before 5.14.
    return None


class TreeGroup:
    """The group of one process tree."""

    def __init__(self, groups: ServerGroups, name: str) -> None:
        self._groups = groups
        self._name = name
        self._directory: str | None = None
        self._ended = False
        self._lock = threading.Lock()

    def add(self, pid: int) -> None:
        """Move the process that was just started into the group; its later children are born there."""
        with self._lock:
            parent = None if self._ended else self._groups.make()
            if parent is None:
                return
            directory = f"{parent}/{self._name}"
            try:
                os.mkdir(directory)
                self._directory = directory
                _write(f"{directory}/cgroup.procs", str(pid))
            except OSError:
                pass  # It has exited, or the server may not move processes: the tags remain.

    def end(self) -> bool:
        """Kill all members and remove the group. False if some of them have not exited yet."""
        with self._lock:
            self._ended = True
            return self._directory is None or kill_and_remove(self._directory)
