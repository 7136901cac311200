"""Faults of the machine: killed and stopped servers, full disk, no descriptors or memory, a jumping clock.

Each fault is over when its function returns, except that the clock keeps its new time.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.seeds.chaos_run import LINE_LIMIT, MIB, ChaosRun
from tests.support.processes import open_descriptors, wait_until


def kill_the_server(run: ChaosRun) -> None:
    assert run.restart(signal.SIGKILL) == -signal.SIGKILL
    old = run.ended_server
    wait_until(lambda: not old.marked_processes(), 15, f"the end of {old.marked_processes()}")


def restart_the_server(run: ChaosRun) -> None:
    assert run.restart(run.random.choice([signal.SIGTERM, signal.SIGINT])) == 0
    old = run.ended_server
    wait_until(lambda: not old.marked_processes(), 5, f"the end of {old.marked_processes()}")


def stop_the_server_for_a_moment(run: ChaosRun) -> None:
    server_id = run.instance()
    run.server.signal(signal.SIGSTOP)
    run.ask(server_id, "test/echo")
    time.sleep(0.1)  # the fault itself
    run.server.signal(signal.SIGCONT)


@contextmanager
def _limited(run: ChaosRun, kind: int, soft: int) -> Iterator[None]:
    """Lower the server's soft limit inside the block. Agents would inherit it, so none is started there."""
    before = resource.prlimit(run.server.pid, kind)
    resource.prlimit(run.server.pid, kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(run.server.pid, kind, before)


def fill_the_disk(run: ChaosRun) -> None:
    """No file of the server can grow: events that leave the memory are lost, and readers get a gap."""
    server_id = run.instance()
    for log in run.logs.values():
        log.may_gap = True
    run.limits_touched = True
    with _limited(run, resource.RLIMIT_FSIZE, 0):
        run.ask(
            server_id, "test/flood", {"count": 3000, "first": 1 + 998 * 1_000_000, "size": 700}
        ).future.result(30)


def use_up_the_descriptors(run: ChaosRun) -> None:
    run.limits_touched = True
    in_use = open_descriptors(run.server.pid)
    highest = max(int(fd) for fd in os.listdir(f"/proc/{run.server.pid}/fd"))
    with _limited(run, resource.RLIMIT_NOFILE, max(in_use, highest) + run.random.choice([1, 3, 8])):
        run.ask("t2", "test/echo", agent="amp").future.result(30)
        for _ in range(3):
            assert run.server.client.get("/v1/acp", timeout=30).status in (200, 503)


def use_up_the_memory(run: ChaosRun) -> None:
    """The address space has a little room only: long lines are dropped, and what they answer fails."""
    server_id = run.instance()
    for log in run.logs.values():
        log.may_gap = True
    run.limits_touched = True
    size = int(Path(f"/proc/{run.server.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    with _limited(run, resource.RLIMIT_AS, size + run.random.choice([8, 16, 32]) * MIB):
        line = {"bytes": LINE_LIMIT - 1000, "as_answer": True}
        waiting = [run.ask(server_id, "test/big_line", line) for _ in range(3)]
        for asked in waiting:
            asked.future.result(30)


CLOCK_JUMPS_S = [-86_400 * 365 * 100, -86_400 * 365, -3600, 60, 3600, 86_400 * 365, 86_400 * 365 * 1000]


def jump_the_clock(run: ChaosRun) -> None:
    """Move the wall clock, as after a suspend or a correction; no promise depends on it."""
    server_id = run.instance()
    waiting = run.ask(server_id, "test/answer_after", {"ms": 200})
    run.server.set_clock_ahead(run.random.choice(CLOCK_JUMPS_S))
    assert waiting.future.result(30).status == 200


FAULTS = [
    kill_the_server,
    restart_the_server,
    stop_the_server_for_a_moment,
    fill_the_disk,
    use_up_the_descriptors,
    use_up_the_memory,
    jump_the_clock,
]
