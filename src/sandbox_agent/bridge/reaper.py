"""Orphans come home: the server adopts what its agents leave behind, and buries it.

Only the `server` command uses this; inside somebody else's process neither the subreaper flag nor a SIGCHLD
handler is ours to set. Agents themselves are waited for by `process`; this looks only at adopted processes.
"""

from __future__ import annotations

import asyncio
import os
import signal

from sandbox_agent.bridge import process_marks
from sandbox_agent.bridge.instances import Instances

_PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans(instances: Instances) -> None:
    """Become the parent of orphaned descendants and reap them when they die."""
    import ctypes  # at the first agent, not at server start

    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def reap() -> None:
        for pid in _children():
            if not instances.is_agent(pid) and _is_ours(pid, instances.server_mark):
                try:
                    os.waitpid(pid, os.WNOHANG)
                except ChildProcessError:
                    pass  # Reaped in the meantime.

    asyncio.get_running_loop().add_signal_handler(signal.SIGCHLD, reap)


def _is_ours(pid: int, server_mark: int) -> bool:
    mark = process_marks.mark_of(pid)
    return mark is not None and process_marks.server_of(mark) == server_mark


def _children() -> list[int]:
    children: list[int] = []
    for thread in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{thread}/children", encoding="ascii") as listing:
                children += map(int, listing.read().split())
        except OSError:
            continue  # The thread ended while we looked.
    return children
