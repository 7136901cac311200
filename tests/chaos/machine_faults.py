"""What the machine does wrong: kills, stops, a full disk, no descriptors, a clock that jumps.

Each is over when it returns, but for the clock, which stays where it jumped to.
"""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.chaos.world import World
from tests.support.processes import open_descriptors, wait_until


def kill_the_server(world: World) -> None:
    assert world.restart(signal.SIGKILL) == -signal.SIGKILL
    old = world.ended_server
    wait_until(lambda: not old.marked_processes(), 15, f"the end of {old.marked_processes()}")


def restart_the_server(world: World) -> None:
    assert world.restart(world.random.choice([signal.SIGTERM, signal.SIGINT])) == 0
    old = world.ended_server
    wait_until(lambda: not old.marked_processes(), 5, f"the end of {old.marked_processes()}")


def stop_the_server_for_a_moment(world: World) -> None:
    server_id = world.instance()
    world.server.signal(signal.SIGSTOP)
    world.ask(server_id, "test/echo")
    time.sleep(0.1)  # the fault itself
    world.server.signal(signal.SIGCONT)


@contextmanager
def _limited(world: World, kind: int, soft: int) -> Iterator[None]:
    """The server's soft limit is lower meanwhile. Agents started meanwhile inherit it, so none is."""
    before = resource.prlimit(world.server.pid, kind)
    resource.prlimit(world.server.pid, kind, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(world.server.pid, kind, before)


def fill_the_disk(world: World) -> None:
    """No file of the server's can grow: what falls out of memory cannot be kept, and readers are told."""
    server_id = world.instance()
    for log in world.logs.values():
        log.may_gap = True
    world.limits_touched = True
    with _limited(world, resource.RLIMIT_FSIZE, 0):
        world.ask(
            server_id, "test/flood", {"count": 3000, "first": 1 + 998 * 1_000_000, "size": 700}
        ).future.result(30)


def use_up_the_descriptors(world: World) -> None:
    world.limits_touched = True
    in_use = open_descriptors(world.server.pid)
    highest = max(int(fd) for fd in os.listdir(f"/proc/{world.server.pid}/fd"))
    with _limited(world, resource.RLIMIT_NOFILE, max(in_use, highest) + 3):
        world.ask("t2", "test/echo", agent="amp").future.result(30)


def jump_with_the_clock(world: World) -> None:
    """The wall clock, as after a suspend or a correction; no promise may hang on it."""
    server_id = world.instance()
    waiting = world.ask(server_id, "test/answer_after", {"ms": 200})
    world.server.set_clock_ahead(world.random.choice([-86_400 * 365, -3600, 60, 3600, 86_400 * 365]))
    assert waiting.future.result(30).status == 200


FAULTS = [
    kill_the_server,
    restart_the_server,
    stop_the_server_for_a_moment,
    fill_the_disk,
    use_up_the_descriptors,
    jump_with_the_clock,
]
