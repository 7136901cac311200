"""What an agent process may be and use: another user, limits on memory, processes and CPU time.

All of it is optional. The limits are set by a shell that then becomes the agent, so there is no moment at
which the agent, or something it starts, runs without them; if one cannot be set the agent does not start.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class ProcessLimits:
    __slots__ = ("cpu_s", "memory_bytes", "processes", "user")

    def __init__(
        self, user: str | None = None, memory_bytes: int = 0, processes: int = 0, cpu_s: int = 0
    ) -> None:
        self.user = user
        self.memory_bytes = memory_bytes
        self.processes = processes
        self.cpu_s = cpu_s

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

    def limited(self, argv: Sequence[str]) -> Sequence[str]:
        """The command line that sets the limits and then becomes `argv`."""
        # Shells disagree on the letter for processes: bash has -u, dash and busybox have -p.
        wanted = {
            "ulimit -v {0}": self.memory_bytes // 1024,
            "{{ ulimit -u {0} 2>/dev/null || ulimit -p {0}; }}": self.processes,
            "ulimit -t {0}": self.cpu_s,
        }
        steps = [step.format(limit) for step, limit in wanted.items() if limit]
        if not steps:
            return argv
        return ["/bin/sh", "-c", " && ".join([*steps, 'exec "$@"']), "sandbox-agent-limits", *argv]
