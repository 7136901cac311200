"""Rollouts in containers: files, commands before and after, and the patch come from inside."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent import podman
from sandbox_agent.rollouts import Rollout, rollouts
from tests.support.machine.container_engines import EMPTY_IMAGE, Engine, own_path, own_programs, run_podman

pytestmark = [pytest.mark.podman, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with run_podman() as engine:
        yield engine


@pytest.mark.clause("rollouts-rollout", "rollouts-containers")
def test_each_task_is_prepared_and_graded_in_a_container_of_its_own(engine: Engine, tmp_path: Path) -> None:
    sandbox = podman(
        EMPTY_IMAGE, engine=engine.address, mounts=own_programs(), env={"PATH": own_path()}, workdir="/home"
    )
    rollout = Rollout(
        agent="mock",
        sandbox=sandbox,
        files={"answer": "42"},
        before=["test ! -e used && touch used"],
        after=["grep -q {wanted} answer", "kill -9 $$"],
        score=lambda _, result: float(result.exit_codes.popitem()[1] == 137),
    )
    tasks = [{"id": str(number), "prompt": "echo x", "wanted": "42"} for number in range(3)]
    batch = rollouts(tasks, rollout, output=tmp_path / "out", at_once=3, progress=False)
    rows = list(batch.rows())
    assert [row.error for row in rows] == [None] * 3 and {row.score for row in rows} == {1.0}
    assert len({row.sandbox for row in rows}) == 3
    assert all(row.exit_codes["grep -q 42 answer"] == 0 for row in rows)
    assert engine.containers() == []
