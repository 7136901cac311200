"""Random sequences of faults: ten seeds in each run, a hundred with `--full`.

A failure prints its seed and the faults that happened; `--chaos-seed N` replays one seed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.chaos.seeds import agent_faults, client_faults, invariants, machine_faults
from tests.chaos.seeds.chaos_run import ChaosRun

STEPS = 16
SEEDS_IN_EACH_RUN, SEEDS = 10, 100
Fault = Callable[[ChaosRun], None]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" not in metafunc.fixturenames:
        return
    chosen = metafunc.config.getoption("chaos_seed")
    more = [pytest.param(seed, marks=pytest.mark.full) for seed in range(SEEDS_IN_EACH_RUN + 1, SEEDS + 1)]
    seeds = [*range(1, SEEDS_IN_EACH_RUN + 1), *more] if chosen is None else [chosen]
    metafunc.parametrize("seed", seeds)


def course(seed: int) -> list[Fault]:
    """The faults of a seed, in order: mostly agents, then clients, now and then the machine."""
    chance = random.Random(seed)  # noqa: S311 - to be replayed, not to be secret
    kinds = [agent_faults.FAULTS, client_faults.FAULTS, machine_faults.FAULTS]
    return [chance.choice(kind) for kind in chance.choices(kinds, weights=[60, 30, 10], k=STEPS)]


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[list[ChaosRun]]:
    """Worlds of a test; their servers end with it, whatever happens."""
    made: list[ChaosRun] = []
    yield made
    for run in made:
        for connection in run.open_connections:
            connection.close()
        run.server.stop()
        left = run.server.kill_leftovers()
        assert not left, left


@pytest.mark.clause("promise-A-under-faults", "runtime-no-task-left")
@pytest.mark.timeout(180)
def test_every_promise_holds_through_a_random_course_of_faults(
    seed: int, tmp_path: Path, runs: list[ChaosRun]
) -> None:
    run = ChaosRun(tmp_path, seed)
    runs.append(run)
    happened: list[str] = []
    try:
        for fault in course(seed):
            happened.append(fault.__name__)
            fault(run)
            invariants.check(run)
        invariants.at_rest(run)
    except BaseException:
        print(f"--chaos-seed {seed} replays: {' '.join(happened)}\n{run.server.log()[-3000:]}")
        raise
    if not run.limits_touched:
        assert "Traceback" not in run.server.log(), run.server.log()[-3000:]


@pytest.mark.clause("security-H1")
@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    "fault",
    [machine_faults.use_up_the_descriptors, machine_faults.use_up_the_memory, machine_faults.jump_the_clock],
    ids=lambda fault: fault.__name__,
)
def test_every_promise_holds_when_one_resource_is_used_up_again_and_again(
    fault: Fault, tmp_path: Path, runs: list[ChaosRun]
) -> None:
    run = ChaosRun(tmp_path, 1)
    runs.append(run)
    for _ in range(5):
        fault(run)
        invariants.check(run)
    invariants.at_rest(run)


@pytest.mark.clause("promise-A-under-faults")
def test_a_seed_always_gives_the_same_course() -> None:
    assert course(7) == course(7) and course(7) != course(8)


@pytest.mark.clause("promise-A-under-faults")
def test_a_hundred_seeds_have_every_fault_in_them() -> None:
    every = {*agent_faults.FAULTS, *client_faults.FAULTS, *machine_faults.FAULTS}
    assert {fault for seed in range(1, SEEDS + 1) for fault in course(seed)} == every
