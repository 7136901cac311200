"""Tags a process before it exists: it inherits the tag from the server, which has it while it starts one.

So the tag is there before the first instruction and before the change of user, after which the server could
not set it without CAP_SYS_RESOURCE. Only the soft limit is inherited, because the server could not raise its
hard limit again; `tags.tag_process` or the shell of `limits` lowers that of the process.
"""

from __future__ import annotations

import resource
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sandbox_agent.bridge.process.tree.tags import RLIMIT_LOCKS
from sandbox_agent.runtime.process_starts import start_lock

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def inherited_tag(tag: int, *, waits: bool = False) -> Iterator[bool]:
    """Processes that are started inside have the tag; false if they do not.

    The thread of the event loop does not wait for another one that starts a process, because a slow disk can
    delay that: the new process is tagged after its start then.
    """
    if not start_lock.acquire(blocking=waits):
        yield False
        return
    try:
        before = _set_soft_limit(tag)
        try:
            yield before is not None
        finally:
            if before is not None:
                _set_soft_limit(before)
    finally:
        start_lock.release()


def _set_soft_limit(value: int) -> int | None:
    """The value from before; None if the kernel does not allow the change."""
    try:
        soft, hard = resource.getrlimit(RLIMIT_LOCKS)
        resource.setrlimit(RLIMIT_LOCKS, (value, hard))
    except (OSError, ValueError):
        return None
    return soft
