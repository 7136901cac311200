"""Create, prompt and delete instances many times, one by one and at once: every count returns.

A hundred cycles in each run, a thousand with `--full`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.processes import open_descriptors, resident_bytes, wait_until, zombies_of
from tests.support.server_process import ServerProcess

AT_ONCE = 200
# What an allocator keeps after the first busy minutes; a leak of one agent's buffers per cycle is more.
MEMORY_SLACK = 24 << 20


@dataclass(frozen=True)
class Counts:
    processes: int
    descriptors: int
    threads: int
    spill_files: int
    instances: int
    tasks: int

    @classmethod
    def of(cls, server: ServerProcess) -> Counts:
        spill = server.data_home / "sandbox-agent" / "spill"
        return cls(
            len(server.marked_processes()),
            open_descriptors(server.pid),
            len(os.listdir(f"/proc/{server.pid}/task")),
            sum(path.is_file() for path in spill.rglob("*")),
            len(server.acp.list()),
            len(server.tasks()),
        )

    def within(self, other: Counts) -> bool:
        """Not more of anything; worker threads are kept, up to what a pool may have."""
        return (
            self.processes <= other.processes
            and self.descriptors <= other.descriptors
            and self.threads <= max(other.threads, 12)
            and self.spill_files <= other.spill_files
            and self.instances <= other.instances
            and self.tasks <= other.tasks
        )


def one_life(acp: Acp, server_id: str) -> None:
    """Create, prompt with updates and a watching reader, delete."""
    acp.call(server_id, "test/echo", agent=AGENT)
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/flood", {"count": 20, "size": 200})
        stream.take(20)
    assert acp.delete(server_id).status == 204


def settled(server: ServerProcess, before: Counts) -> None:
    def back() -> bool:
        return Counts.of(server).within(before) and not zombies_of(server.pid)

    try:
        wait_until(back, 15, "the counts from before")
    except AssertionError:
        raise AssertionError(f"before: {before}; now: {Counts.of(server)}") from None


@pytest.mark.clause("promise-H-cycles", "runtime-no-task-left")
@pytest.mark.timeout(900)
def test_after_many_cycles_every_count_is_where_it_was(start_server, full_run: bool) -> None:
    server: ServerProcess = start_server()
    for number in range(10):  # the first ones import, start the watchdog and warm pools
        one_life(server.acp, f"warm-{number}")
    wait_until(lambda: len(server.marked_processes()) == 2, 10, "the server and its watchdog alone")
    before, memory = Counts.of(server), resident_bytes(server.pid)
    for number in range(1000 if full_run else 100):
        # Every other id is used again and again: closed ids are remembered, their instances are not.
        one_life(server.acp, f"cycle-{number if number % 2 else 0}")
    settled(server, before)
    assert resident_bytes(server.pid) - memory < MEMORY_SLACK


@pytest.mark.serial
@pytest.mark.clause("promise-H-cycles")
@pytest.mark.timeout(180)
def test_after_two_hundred_at_once_every_count_is_where_it_was(start_server) -> None:
    server: ServerProcess = start_server()
    acp = server.acp
    one_life(acp, "warm")
    wait_until(lambda: len(server.marked_processes()) == 2, 10, "the server and its watchdog alone")
    before = Counts.of(server)
    names = [f"many-{number}" for number in range(AT_ONCE)]
    started = [acp.in_background(acp.call, name, "test/echo", agent=AGENT, timeout=90) for name in names]
    pids = {future.result(100)["pid"] for future in started}
    assert len(pids) == AT_ONCE
    assert {row["status"] for row in acp.list()} == {"running"}
    deleted = [acp.in_background(acp.delete, name, timeout=60) for name in names]
    assert {future.result(70).status for future in deleted} == {204}
    settled(server, before)
