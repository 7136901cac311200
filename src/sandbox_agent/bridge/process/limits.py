"""Limits of agent processes: another user, memory, number of processes, CPU time. All are optional.

A shell sets the limits and then executes the agent, so neither the agent nor its children ever run without
them. If a limit cannot be set, the agent does not start. The shell itself does not see the variables of the
agent: a client may give some, and `LD_PRELOAD` or an exported function acts before the limits are set.

A process of another user inherits its tag from the server (`inherited_tag`), and the shell sets the hard
limit as well: the server may change the limits of that user's processes only with CAP_SYS_RESOURCE, which
containers usually do not have.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree.tags import ENV_TAG
from sandbox_agent.runtime import descriptors

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


# A variable of the agent, as `NAME=value`, until the shell has set the limits.
_HELD = "SANDBOX_AGENT_HELD_"


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
        """Arguments of Popen for the other user. Raises KeyError if the user does not exist."""
        if self.user is None:
            return {}
        import pwd  # only for --agent-user

        entry = pwd.getpwnam(self.user)
        groups = os.getgrouplist(entry.pw_name, entry.pw_gid)
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": groups}

    def environment(self) -> dict[str, str]:
        """Variables that differ for the other user."""
        if self.user is None:
            return {}
        import pwd

        entry = pwd.getpwnam(self.user)
        return {"HOME": entry.pw_dir, "USER": entry.pw_name, "LOGNAME": entry.pw_name}

    def limited(
        self, argv: Sequence[str], env: Mapping[str, str], tag: int
    ) -> tuple[Sequence[str], Mapping[str, str]]:
        """The command line that sets the limits, for another user also the tag, and then executes `argv`.

        With its environment. Variables whose names a shell does not know as such are left out.
        """
        env = {**env, **self.environment()}
        # The option for processes differs: -u in bash, -p in dash and busybox.
        wanted = {
            "ulimit -v {0}": self.memory_bytes // 1024,
            "{{ ulimit -u {0} 2>/dev/null || ulimit -p {0}; }}": self.processes,
            "ulimit -t {0}": self.cpu_s,
            # Without CAP_SYS_RESOURCE the server cannot change this limit once the user has changed.
            "ulimit -S -n {0}": descriptors.original_limit() if self.user is not None else 0,
        }
        steps = [step.format(limit) for step, limit in wanted.items() if limit]
        if self.user is not None:
            # -w in dash and busybox, -x in bash. Without this limit the agent starts all the same.
            steps.append(f"{{ ulimit -w {tag} || ulimit -x {tag} || :; }} 2>/dev/null")
        if not steps:
            return argv, env
        names = [name for name in env if name.isidentifier() and name.isascii() and name != ENV_TAG]
        held = {f"{_HELD}{number}": f"{name}={env[name]}" for number, name in enumerate(names)}
        # `command`: a variable that is read-only in the shell, such as UID in bash, does not end it.
        variables = [f'command export "${name}" 2>/dev/null; unset {name}' for name in held]
        script = "\n".join([" && ".join(steps) + " || exit 126", *variables, 'exec "$@"'])
        if ENV_TAG in env:  # The shell is part of the tree.
            held[ENV_TAG] = env[ENV_TAG]
        return ["/bin/sh", "-c", script, "sandbox-agent-limits", *argv], held
