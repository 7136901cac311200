"""Readers that replay from disk, stand still and leave, again and again."""

from __future__ import annotations

import platform
import time

import pytest

from tests.support.processes import resident_bytes, wait_until
from tests.support.server_process import ServerProcess

READERS = 200
ROUNDS = 3
MIB = 1 << 20


def has_stopped_growing(pid: int) -> bool:
    before = resident_bytes(pid)
    time.sleep(0.7)  # the interval of the measurement
    return resident_bytes(pid) - before < MIB


@pytest.mark.clause("promise-C-storms")
@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="other C libraries return memory in their own way"
)
def test_storms_of_stuck_readers_give_their_memory_back(start_server) -> None:
    server: ServerProcess = start_server()
    server_id = server.acp.start()
    for _ in range(5):
        server.acp.call(server_id, "test/flood", {"count": 5000, "size": 400}, timeout=30)
    at_first = resident_bytes(server.pid)
    request = server.client.build("GET", server.acp.path(server_id))
    for _ in range(ROUNDS):
        connections = [server.client.connect(20, receive_buffer=4096) for _ in range(READERS)]
        for connection in connections:
            connection.send(request)
        wait_until(lambda: has_stopped_growing(server.pid), 20, "buffers that are full")
        for connection in connections:
            connection.close()
        wait_until(lambda: (server.acp.entry(server_id) or {})["subscribers"] == 0, 10, "no readers")
        wait_until(
            lambda: resident_bytes(server.pid) < at_first + 60 * MIB,
            20,
            f"the memory from before ({at_first / MIB:.0f} MB)",
        )
