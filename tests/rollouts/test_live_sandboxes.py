"""Many sandboxes at one moment: every rollout has a server and an agent of its own, and all are in a turn."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_agent.rollouts.output.output_directory import read_rows
from tests.support.polling import wait_until
from tests.support.processes import MARK_VARIABLE, marked

# The agents of a wave wait for a permission, which comes when all of the wave have asked. At that moment the
# processes are counted; the next wave can only fill up when the sandboxes of the last one have gone.
WAVES = """
import asyncio, json, os, sys
from functools import partial
from sandbox_agent import LocalProvider, SpawnOptions
from sandbox_agent.rollouts import Rollout, rollouts
from tests.support.processes import MARK_VARIABLE, marked, resident_bytes

output, at_once, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
waves, asking = [], asyncio.Barrier(at_once)
taken = done = ahead = 0

async def ask(request):
    place = await asking.wait()
    if place == 0:
        commands = [command.split(" ") for command in marked(os.environ[MARK_VARIABLE]).values()]
        servers = sum("server" in words for words in commands)
        agents = sum("sandbox_agent.agents.mock" in words for words in commands)
        waves.append([servers, agents, resident_bytes(os.getpid()) // 1024])
    return "once"

def tasks():
    global taken, ahead
    for number in range(count):
        taken += 1
        ahead = max(ahead, taken - done)
        yield {"id": f"t{number}", "prompt": "permission"}

def finished(result):
    global done
    done += 1

sandbox = partial(LocalProvider, SpawnOptions(timeout=60.0))
rollout = Rollout(agent="mock", sandbox=sandbox, permissions=ask, keep=(), timeout_s=1200)
batch = rollouts(tasks(), rollout, output=output, at_once=at_once, progress=False, on_result=finished)
print(json.dumps({"passed": batch.tally.passed, "waves": waves, "ahead": ahead}))
"""
# A wave reuses the memory of the second one: what is kept of a rollout is its id. The first is counted before
# any sandbox has ended, which takes 10 MB once for 200.
DRIVER_GROWTH_KB = 4 * 1024


@pytest.mark.serial
@pytest.mark.timeout(3600)
@pytest.mark.clause("rollouts-batch")
def test_as_many_sandboxes_live_as_asked_for_and_none_is_left(tmp_path: Path, full_run: bool) -> None:
    at_once, count = (200, 1000) if full_run else (16, 48)
    mark = f"waves-{os.getpid()}"
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    done = subprocess.run(
        [sys.executable, "-c", WAVES, str(tmp_path / "out"), str(at_once), str(count)],
        env={**os.environ, **home, MARK_VARIABLE: mark},
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    waves = facts["waves"]
    memory = [kilobytes for _, _, kilobytes in waves]
    print(f"{count} rollouts, {at_once} at once: servers, agents and KB of the driver in each wave: {waves}")
    failures = [row["error"] for row in read_rows(tmp_path / "out") if row["error"]]
    assert (facts["passed"], failures) == (count, [])
    assert [(servers, agents) for servers, agents, _ in waves] == [(at_once, at_once)] * (count // at_once)
    assert facts["ahead"] <= at_once, "tasks are taken only when there is room"
    assert memory[-1] - memory[1] < DRIVER_GROWTH_KB
    wait_until(lambda: not marked(mark), 20, "servers and agents of the batch have ended")
