"""Ray: rollouts and live sandboxes on a cluster whose nodes and drivers are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.rollouts.output.output_directory import read_rows
from tests.support.machine.ray_cluster import RayCluster, ray_cluster
from tests.support.polling import wait_until

pytestmark = [pytest.mark.netns, pytest.mark.serial, pytest.mark.timeout(600)]

BATCH = """
import sys
from sandbox_agent.rollouts import Rollout, rollouts
tasks = [{"id": f"t{n}", "prompt": f"slow {sys.argv[3]}"} for n in range(int(sys.argv[2]))]
rollout = Rollout(agent="mock", keep=())
batch = rollouts(tasks, rollout, output=sys.argv[1], engine="ray", at_once=12, progress=False)
print("said:", batch.tally.done, batch.skipped, flush=True)
"""

TRAINER = """
import asyncio, ray
from sandbox_agent.rollouts import Rollout
ray.init(address="auto", log_to_driver=False)
rollout = Rollout(agent="mock", prompt="echo {word}")
one = ray.remote(max_retries=1, num_cpus=0.5)(rollout.run)
results = ray.get([one.remote({"id": str(n), "word": f"w{n}"}) for n in range(4)])

@ray.remote(num_cpus=0.5)
class Trainer:
    async def step(self, task):
        return await rollout.run(task, id="in an actor")

@ray.remote(num_cpus=0.5)
def step(task):
    return asyncio.run(rollout.run(task, id="in a task"))

trainer = Trainer.remote()
results += ray.get([trainer.step.remote({"word": "a"}), step.remote({"word": "t"})])
results.append(asyncio.run(rollout.run({"id": "here", "word": "h"})))
print("said:", *(f"{result.id}={result.text}" for result in results), flush=True)
"""

SANDBOXES = """
import asyncio, os, sys
from sandbox_agent import AsyncSandboxAgent, SandboxDestroyedError
from sandbox_agent.sdk.providers.ray_provider import RayProvider

async def main():
    client = await AsyncSandboxAgent.start(RayProvider(detached=True, actor_options={"num_cpus": 1}))
    session = await client.sessions.create("mock", directory="/")
    print("said:", (await session.prompt("echo on a node")).text)
    print("said:", client.sandbox_id, client.base_url, flush=True)
    os._exit(0)

async def again(sandbox_id):
    provider = RayProvider(detached=True)
    client = await AsyncSandboxAgent.start(provider, sandbox_id=sandbox_id)
    print("said: agents", len(await client.acp.list()), flush=True)
    key = sandbox_id.partition("/")[2]
    sys.stdin.readline()
    while provider.alive(key):
        await asyncio.sleep(0.1)
    try:
        await AsyncSandboxAgent.start(RayProvider(), sandbox_id=sandbox_id)
    except SandboxDestroyedError as error:
        print("said:", type(error).__name__, flush=True)
    os._exit(0)

asyncio.run(again(sys.argv[1]) if len(sys.argv) > 1 else main())
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with ray_cluster(workers=3, cpus=2) as cluster:
        yield cluster


def driver(cluster: RayCluster, program: str, *arguments: object, **options: Any) -> subprocess.Popen[bytes]:
    words = cluster.in_head([sys.executable, "-c", program, *map(str, arguments)])
    return subprocess.Popen(words, env=cluster.environment, stdout=subprocess.PIPE, **options)


def said(output: bytes) -> list[str]:
    """What the program has printed: Ray writes what its nodes report to the stdout of a driver too."""
    lines = output.decode().splitlines()
    return [line.removeprefix("said: ") for line in lines if line.startswith("said: ")]


def rows_of(output: Path) -> int:
    journal = output / "journal.jsonl"
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


@pytest.mark.clause("rollouts-ray")
def test_killed_driver_is_continued(cluster: RayCluster, tmp_path: Path) -> None:
    first = driver(cluster, BATCH, tmp_path, 40, 300)
    wait_until(lambda: rows_of(tmp_path) >= 8, 120, "the first rows")
    os.kill(first.pid, signal.SIGKILL)  # `ip netns exec` becomes the program
    first.communicate()
    known = len(list(read_rows(tmp_path)))
    second = driver(cluster, BATCH, tmp_path, 40, 10)
    output, _ = second.communicate(timeout=300)
    done, skipped = map(int, said(output)[-1].split())
    assert (done, skipped) == (40 - known, known) and known >= 8
    assert sorted(row["id"] for row in read_rows(tmp_path)) == sorted(f"t{n}" for n in range(40))


@pytest.mark.clause("rollouts-ray")
def test_rollout_is_a_remote_function_in_a_trainer(cluster: RayCluster) -> None:
    output, _ = driver(cluster, TRAINER).communicate(timeout=180)
    assert said(output) == ["0=w0 1=w1 2=w2 3=w3 in an actor=a in a task=t here=h"]


@pytest.mark.clause("rollouts-ray-provider")
def test_live_sandbox_is_found_again_and_a_lost_node_is_a_typed_error(cluster: RayCluster) -> None:
    output, _ = driver(cluster, SANDBOXES).communicate(timeout=180)
    text, facts = said(output)
    sandbox_id, url = facts.split()
    assert text == "on a node"
    node = next(name for name in cluster.nodes if cluster.address(name) in url)
    second = driver(cluster, SANDBOXES, sandbox_id, stdin=subprocess.PIPE)
    assert second.stdin is not None and second.stdout is not None
    while not (line := second.stdout.readline()).startswith(b"said: "):
        assert line, "the program has ended"
    assert said(line) == ["agents 1"]
    cluster.kill_node(node)
    second.stdin.write(b"\n")
    output, _ = second.communicate(timeout=180)
    assert said(output) == ["SandboxDestroyedError"]


@pytest.mark.clause("rollouts-ray")
def test_no_row_is_lost_or_doubled_when_a_node_fails(
    cluster: RayCluster, tmp_path: Path, full_run: bool
) -> None:
    count = 500 if full_run else 40
    running = driver(cluster, BATCH, tmp_path, count, 400)
    wait_until(lambda: rows_of(tmp_path) >= 12, 180, "the first rows")
    used = {json.loads(line)["node"] for line in (tmp_path / "journal.jsonl").read_bytes().splitlines()}
    victim = next(name for name in cluster.nodes if cluster.address(name) in used)
    cluster.kill_node(victim)
    output, _ = running.communicate(timeout=500)
    assert said(output) == [f"{count} 0"]
    rows = list(read_rows(tmp_path))
    assert sorted(row["id"] for row in rows) == sorted(f"t{n}" for n in range(count))
    assert not [row["error"] for row in rows if row["error"]]
    assert {row["attempt"] for row in rows} == {1, 2}, "those of the lost node are second attempts"

    def no_agent() -> bool:
        return not [line for line in cluster.command_lines() if "mock-agent" in line]

    wait_until(no_agent, 60, "no agent of a rollout is left")
