"""Processes that try to survive their agent: `sleep` with a number of seconds that no other process has.

So a test finds every one of them, also without environment, parent and tag.
"""

from __future__ import annotations

import os
import secrets
import signal
from pathlib import Path

from tests.support.processes import wait_until

# What Docker and Podman give a container by default: neither CAP_SYS_RESOURCE nor CAP_SYS_PTRACE.
DOCKER_CAPABILITIES = (
    "chown dac_override fowner fsetid kill setgid setuid setpcap net_bind_service net_raw sys_chroot mknod "
    "audit_write setfcap"
).split()
WITH_DOCKER_CAPABILITIES = [
    "setpriv",
    "--bounding-set=" + ",".join(["-all", *(f"+{name}" for name in DOCKER_CAPABILITIES)]),
    "--inh-caps=-all",
]
# A namespace in which cgroup v2 is not mounted: there the server has nothing but the tags.
WITHOUT_GROUPS = [
    "unshare",
    "-m",
    "sh",
    "-c",
    "mount --make-rprivate / && while read -r _ _ _ _ place rest; do case $rest in *' - cgroup2 '*) "
    'umount -l "$place";; esac; done </proc/self/mountinfo && exec "$@"',
    "sh",
]

DETACHED = {
    "setsid": "setsid sleep {s} >/dev/null 2>&1 &",
    "nohup": "nohup sleep {s} >/dev/null 2>&1 &",
    "double fork, empty environment": "(env -i setsid sleep {s} >/dev/null 2>&1 &)",
    "ignores SIGTERM": "(trap '' TERM HUP; setsid sleep {s} >/dev/null 2>&1 &)",
}
# Everyone can set a lower limit.
HIDDEN = {
    "lower": "(ulimit -w 5; env -i setsid sleep {s} >/dev/null 2>&1 &)",
    "like another server": "(ulimit -w 2305843009213693953; env -i setsid sleep {s} >/dev/null 2>&1 &)",
}


class Sleepers:
    """The processes that a test's agents have started."""

    def __init__(self) -> None:
        self.seconds = f"600.{secrets.randbelow(10**9):09d}"

    def alive(self) -> dict[int, str]:
        wanted, found = ["sleep", self.seconds], {}
        for entry in os.listdir("/proc"):
            if entry.isdigit():
                try:
                    command = Path(f"/proc/{entry}/cmdline").read_bytes().decode().split("\0")
                except OSError:
                    continue
                if command[:2] == wanted:
                    found[int(entry)] = " ".join(command)
        return found

    def kill(self) -> None:
        for pid in self.alive():
            os.kill(pid, signal.SIGKILL)


def is_gone(sleepers: Sleepers, limit_s: float = 5.0) -> None:
    wait_until(lambda: not sleepers.alive(), limit_s, "the end of every process of the agent")
