"""Free ports for servers under test, which two test processes never get at the same time.

A port that is only probed can be taken by the server of another test before ours listens. Both servers have
the same token, so the test would find a healthy server, which ends with the other test. Therefore every test
process has a block of ports of its own, held by a lock. Outgoing connections have ports above all blocks.
"""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FIRST, LAST = 10_000, 32_000
BLOCK = 200


def free_port() -> int:
    """A port of this process on which nothing listens."""
    ports = _ports_of(os.getpid())
    for port in itertools.islice(ports, BLOCK):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"none of {BLOCK} ports is free")


@cache
def _ports_of(_pid: int) -> Iterator[int]:
    """The ports of a block that this process holds until it ends, over and over."""
    blocks = list(range(FIRST, LAST, BLOCK))
    random.shuffle(blocks)
    for block in blocks:
        path = Path(tempfile.gettempdir()) / f"sandbox-agent-test-ports-{os.getuid()}-{block}"
        holder = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(holder)
            continue
        return itertools.cycle(range(block, block + BLOCK))
    raise RuntimeError("every block of ports is held by another test process")
