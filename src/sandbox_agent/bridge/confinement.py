"""What an agent process may be and use: another user, limits on memory, processes and CPU time.

All of it is optional. The limits are set from outside right after the start (prlimit), so they need no code
in the child; a process that cannot be limited is not left running without its limits.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Confinement:
    user: str | None = None
    memory_bytes: int = 0
    processes: int = 0
    cpu_s: int = 0

    def popen_arguments(self) -> dict[str, Any]:
        """How to start as the other user. Raises KeyError when there is none of that name."""
        if self.user is None:
            return {}
        import pwd  # only where agents run as somebody else

        entry = pwd.getpwnam(self.user)
        groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}

    def environment(self) -> dict[str, str]:
        """What has to differ in the other user's environment."""
        if self.user is None:
            return {}
        import pwd

        entry = pwd.getpwnam(self.user)
        return {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}

    def apply(self, pid: int) -> None:
        """Set the limits of a process that has just been started. Raises OSError or ValueError."""
        import resource

        wanted = {
            resource.RLIMIT_AS: self.memory_bytes,
            resource.RLIMIT_NPROC: self.processes,
            resource.RLIMIT_CPU: self.cpu_s,
        }
        for kind, limit in wanted.items():
            if limit:
                resource.prlimit(pid, kind, (limit, limit))
