"""Run a server under mixed load for minutes or hours and measure it once per second: `scripts/soak MINUTES`.

Writes .cache/soak/result.json, docs/soak.md and docs/images/soak.png. Exits with 1 if a value grows or an
operation fails. The first quarter is for warming up and does not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from bench.wheel_install import chart_python

from tests.chaos.soak_load import Worker
from tests.support.clients.acp import AGENT
from tests.support.processes import open_descriptors, resident_bytes, wait_until
from tests.support.server_process import ServerProcess

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / ".cache" / "soak" / "result.json"
PAGE, PICTURE = ROOT / "docs" / "soak.md", ROOT / "docs" / "images" / "soak.png"
WORKERS = 4
PAUSE_S = 0.05
# Allowed difference between the last and the second quarter; a value that grows with time exceeds it.
SLACK = {"memory_mb": 8.0, "descriptors": 8.0, "processes": 6.0, "threads": 4.0, "tasks": 6.0}

Sample = dict[str, float]


class Soak:
    def __init__(self, server: ServerProcess, minutes: float) -> None:
        self.server = server
        self.seconds = minutes * 60
        self.began = time.monotonic()
        self.samples: list[Sample] = []
        self.failures: list[str] = []
        self.workers = [Worker(server, number) for number in range(WORKERS)]

    @property
    def over(self) -> bool:
        return time.monotonic() - self.began > self.seconds

    def run(self) -> None:
        threads = [threading.Thread(target=self._work, args=[worker]) for worker in self.workers]
        for thread in threads:
            thread.start()
        while not self.over:
            self.samples.append(self._sample())
            time.sleep(1)
        for thread in threads:
            thread.join(120)

    def _work(self, worker: Worker) -> None:
        while not self.over and len(self.failures) < 100:
            try:
                worker.step()
            except Exception as error:
                self.failures.append(f"{type(error).__name__}: {error}"[:300])
            time.sleep(PAUSE_S)

    def _sample(self) -> Sample:
        pid = self.server.pid
        return {
            "second": time.monotonic() - self.began,
            "memory_mb": resident_bytes(pid) / 1e6,
            "descriptors": open_descriptors(pid),
            "processes": len(self.server.marked_processes()),
            "threads": len(os.listdir(f"/proc/{pid}/task")),
            "tasks": len(self.server.tasks()),
            "health_ms": self._milliseconds("/v1/health"),
        }

    def _milliseconds(self, path: str) -> float:
        began = time.perf_counter()
        assert self.server.client.get(path, timeout=60).status == 200
        return (time.perf_counter() - began) * 1000

    def result(self) -> dict[str, Any]:
        quarter = len(self.samples) // 4
        early, late = self.samples[quarter : 2 * quarter], self.samples[-quarter:]
        names = [*SLACK, "health_ms"]
        done: Counter[str] = sum((worker.done for worker in self.workers), Counter())
        return {
            "minutes": self.seconds / 60,
            "samples": self.samples,
            "operations": dict(done.most_common()),
            "failures": self.failures,
            "early": {name: median(sample[name] for sample in early) for name in names},
            "late": {name: median(sample[name] for sample in late) for name in names},
            "health_p99_ms": quantiles([sample["health_ms"] for sample in self.samples], n=100)[98],
            "load_average": os.getloadavg()[0],
        }


def risen(result: dict[str, Any]) -> list[str]:
    """The values that grow, as text."""
    early, late = result["early"], result["late"]
    return [
        f"{name}: {early[name]:.1f} -> {late[name]:.1f}"
        for name, slack in SLACK.items()
        if late[name] - early[name] > slack
    ]


def page(result: dict[str, Any], at_rest: dict[str, int]) -> str:
    names = {
        "memory_mb": "memory of the server, MB",
        "descriptors": "open descriptors",
        "processes": "processes (server, watchdog, agents and their children)",
        "threads": "threads",
        "tasks": "tasks of the event loop",
        "health_ms": "health, median, ms",
    }
    rows = [
        f"| {label} | {result['early'][key]:.1f} | {result['late'][key]:.1f} |"
        for key, label in names.items()
    ]
    operations = [f"| {name.replace('_', ' ')} | {count} |" for name, count in result["operations"].items()]
    return f"""# Soak

A server under mixed load, measured once per second. No value may grow: the median of the last quarter may
exceed that of the second quarter by a small tolerance only (memory: {SLACK["memory_mb"]:g} MB). The first
quarter is for warming up. `scripts/soak [minutes]` writes this page. This run took {result["minutes"]:g}
minutes with {len(result["operations"])} kinds of operations by {WORKERS} clients, on a machine with a load
average of {result["load_average"]:.1f} at the end.

![memory, descriptors, processes and latency over time](images/soak.png)

| | second quarter | last quarter |
|---|---|---|
{chr(10).join(rows)}

- Health at the 99th percentile: {result["health_p99_ms"]:.0f} ms.
- Failed operations: {len(result["failures"])}.
- After all instances were closed: {at_rest["processes"]} processes (server and watchdog),
  {at_rest["descriptors"]} descriptors, {at_rest["tasks"]} tasks, {at_rest["spill_files"]} spill files.

The server remembers the last event number of each closed id (about 300 bytes each, at most 100,000 ids), so
that an id that is used again continues its numbering. Operations with new ids increase memory by that amount.

| operation | times |
|---|---|
{chr(10).join(operations)}
"""


def come_to_rest(server: ServerProcess) -> dict[str, int]:
    for row in server.acp.list():
        assert server.acp.delete(row["serverId"], timeout=60).status == 204
    wait_until(lambda: len(server.marked_processes()) <= 2, 30, "no agents")
    spill = server.data_home / "sandbox-agent" / "spill"
    kept = lambda: [path for path in spill.rglob("*") if path.is_file() and path.name != "lock"]  # noqa: E731
    wait_until(lambda: not kept(), 30, "no spill files")
    wait_until(lambda: not server.tasks(), 30, "no task")
    return {
        "processes": len(server.marked_processes()),
        "descriptors": open_descriptors(server.pid),
        "tasks": len(server.tasks()),
        "spill_files": len(kept()),
    }


def main(minutes: float) -> int:
    with tempfile.TemporaryDirectory() as directory:
        server = ServerProcess(Path(directory), isolated=True)
        try:
            server.ready(30)
            server.acp.start("shared", AGENT)
            soak = Soak(server, minutes)
            soak.run()
            at_rest = come_to_rest(server)
        finally:
            server.stop()
            left = server.kill_leftovers()
    result = soak.result()
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    RESULT.write_text(json.dumps(result))
    PICTURE.parent.mkdir(exist_ok=True)
    chart = [str(chart_python()), str(Path(__file__).with_name("soak_chart.py")), str(RESULT), str(PICTURE)]
    subprocess.run(chart, check=True, timeout=120)
    PAGE.write_text(page(result, at_rest))
    problems = [*risen(result), *result["failures"][:5], *(["left running: " + str(left)] if left else [])]
    print(
        "\n".join(problems) or f"no growth: {sum(result['operations'].values())} operations; see {PAGE.name}"
    )
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 10))
