"""The processor time of a rollout over a bare loop of sessions, and the memory of the driver.

usage: python -m bench.rollout_overhead [COUNT] [bare|batch|ray|sandboxes ...]

Each way runs in a process of its own: COUNT prompts `echo hello` to the mock agent. `bare` and `batch` run 8
at a time with one local server; `sandboxes` starts a server for each rollout, up to 200 at a time. Processor
time is that of the driver and everything it has started. `ray` needs root: it makes a cluster of a head and
three nodes with two processors each, lets every worker do rollouts first, and counts driver and cluster
without what the idle cluster takes.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sandbox_agent import AsyncSandboxAgent, LocalProvider
from sandbox_agent.rollouts import Rollout, rollouts

AT_ONCE = 8
SANDBOXES_AT_ONCE = 200
WARM_UP = 24
IDLE_S = 5.0
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


async def bare_loop(count: int) -> None:
    places = asyncio.Semaphore(AT_ONCE)
    async with await AsyncSandboxAgent.start() as client:

        async def one() -> None:
            async with places:
                session = await client.sessions.create("mock", directory="/", isolated=True)
                assert (await session.prompt("echo hello")).text == "hello"  # noqa: S101 - a measurement of work
                await session.terminate()
                await client.sessions.forget(session.id)

        await asyncio.gather(*(one() for _ in range(count)))


def batch(count: int, rollout: Rollout, at_once: int = AT_ONCE, engine: str = "local") -> float:
    """Run the rollouts; returns the seconds it took."""
    tasks = ({"id": str(number), "prompt": "echo hello"} for number in range(count))
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as output:
        done = rollouts(tasks, rollout, output=output, engine=engine, at_once=at_once, progress=False)  # type: ignore[arg-type]
    assert done.tally.passed == count, done.tally  # noqa: S101 - as above
    return time.monotonic() - began


def measure(way: str, count: int) -> None:
    began = time.monotonic()
    if way == "bare":
        asyncio.run(bare_loop(count))
    elif way == "batch":
        batch(count, Rollout(agent="mock"))
    else:
        batch(count, Rollout(agent="mock", sandbox=LocalProvider), SANDBOXES_AT_ONCE)
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
    report(way, count, cpu_s, time.monotonic() - began, own.ru_maxrss // 1024)


def report(way: str, count: int, cpu_s: float, wall_s: float, driver_mb: int) -> None:
    cpu_ms = round(1000 * cpu_s / count, 1)
    figures = {"way": way, "rollouts": count, "cpu_ms": cpu_ms, "wall_s": round(wall_s, 1)}
    print(json.dumps({**figures, "driver_mb": driver_mb}), flush=True)


def ray_driver(count: int) -> None:
    """In the cluster: warm up, wait until the time is taken, run, and wait again."""
    batch(WARM_UP, Rollout(agent="mock"), engine="ray")
    print("warm", flush=True)
    sys.stdin.readline()
    wall_s = batch(count, Rollout(agent="mock"), engine="ray")
    print(json.dumps([wall_s, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024]), flush=True)
    sys.stdin.readline()


def measure_ray(count: int) -> None:
    from tests.support.machine.ray_cluster import RayCluster, ray_cluster

    def cpu_s(cluster: RayCluster) -> float:
        return sum(map(_cpu_of, cluster.processes()))

    with ray_cluster(workers=3, cpus=2) as cluster:
        words = [sys.executable, "-m", "bench.rollout_overhead", str(count), "ray-driver"]
        driver = subprocess.Popen(
            cluster.in_head(words),
            env=cluster.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert driver.stdin is not None and driver.stdout is not None  # noqa: S101 - for type checkers
        while driver.stdout.readline() != "warm\n":
            pass
        before_idle = cpu_s(cluster)
        time.sleep(IDLE_S)
        before = cpu_s(cluster)
        idle = (before - before_idle) / IDLE_S
        driver.stdin.write("go\n")
        driver.stdin.flush()
        line = ""
        while not line.startswith("["):  # Ray writes to stdout too
            line = driver.stdout.readline()
        wall_s, driver_mb = json.loads(line)
        report("ray", count, cpu_s(cluster) - before - idle * wall_s, wall_s, driver_mb)
        driver.communicate("end\n")


def _cpu_of(pid: int) -> float:
    """Processor time of a process and of its children that have ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICKS_PER_S


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    ways = sys.argv[2:] or ["bare", "batch"]
    if ways == ["ray-driver"]:
        ray_driver(count)
    elif len(ways) == 1:
        (measure_ray if ways == ["ray"] else lambda count: measure(ways[0], count))(count)
    else:
        for way in ways:
            subprocess.run([sys.executable, "-m", "bench.rollout_overhead", str(count), way], check=True)


if __name__ == "__main__":
    main()
