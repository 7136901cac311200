"""Random courses of faults. `SANDBOX_AGENT_CHAOS_SEED=n` replays one; a failure prints its seed and course.

Ten seeds by default, a hundred with SANDBOX_AGENT_TEST_FULL=1.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos import agent_faults, client_faults, invariants, machine_faults
from tests.chaos.world import World

STEPS = int(os.environ.get("SANDBOX_AGENT_CHAOS_STEPS", "16"))
FULL = os.environ.get("SANDBOX_AGENT_TEST_FULL") == "1"
Fault = Callable[[World], None]


def seeds() -> list[int]:
    if named := os.environ.get("SANDBOX_AGENT_CHAOS_SEED"):
        return [int(named)]
    return list(range(1, 101 if FULL else 11))


def course(seed: int) -> list[Fault]:
    """The faults of a seed, in order: mostly agents, then clients, now and then the machine."""
    chance = random.Random(seed)  # noqa: S311 - to be replayed, not to be secret
    kinds = [agent_faults.FAULTS, client_faults.FAULTS, machine_faults.FAULTS]
    return [chance.choice(kind) for kind in chance.choices(kinds, weights=[60, 30, 10], k=STEPS)]


@pytest.fixture
def worlds(tmp_path: Path) -> Iterator[list[World]]:
    """Worlds of a test; their servers end with it, whatever happens."""
    made: list[World] = []
    yield made
    for world in made:
        for connection in world.open_connections:
            connection.close()
        world.server.stop()
        left = world.server.kill_leftovers()
        assert not left, left


@pytest.mark.clause("promise-A-under-faults", "runtime-no-task-left")
@pytest.mark.timeout(180)
@pytest.mark.parametrize("seed", seeds())
def test_every_promise_holds_through_a_random_course_of_faults(
    seed: int, tmp_path: Path, worlds: list[World]
) -> None:
    world = World(tmp_path, seed)
    worlds.append(world)
    happened: list[str] = []
    try:
        for fault in course(seed):
            happened.append(fault.__name__)
            fault(world)
            invariants.check(world)
        invariants.at_rest(world)
    except BaseException:
        print(f"SANDBOX_AGENT_CHAOS_SEED={seed} replays: {' '.join(happened)}\n{world.server.log()[-3000:]}")
        raise
    if not world.limits_touched:
        assert "Traceback" not in world.server.log(), world.server.log()[-3000:]


@pytest.mark.clause("promise-A-under-faults")
def test_a_seed_always_gives_the_same_course() -> None:
    assert course(7) == course(7) and course(7) != course(8)


@pytest.mark.clause("promise-A-under-faults")
def test_a_hundred_seeds_have_every_fault_in_them() -> None:
    every = {*agent_faults.FAULTS, *client_faults.FAULTS, *machine_faults.FAULTS}
    assert {fault for seed in range(1, 101) for fault in course(seed)} == every
