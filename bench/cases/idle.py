"""Many idle instances: their CPU time and their effect on the latency of the health check.

The health checks alternate with those of a second server without instances, so both are measured within a few
seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import process_usage
from bench.plan import Plan
from bench.results.measurements import Measurements
from bench.server_under_test import RunningServer, ServerUnderTest

PAUSE_US = 1000
TURNS = 3


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    with tested.running() as empty, tested.running() as full:
        full.add_instances([f"i-{n}" for n in range(plan.idle_instances)])
        time.sleep(0.5)
        spent, begun = process_usage.fine_cpu_seconds(full.pid), time.monotonic()
        time.sleep(plan.idle_seconds)
        spent = process_usage.fine_cpu_seconds(full.pid) - spent
        percent = spent / (time.monotonic() - begun) * 100
        measurements.add("idle instances cpu percent", tested.name, percent)
        for _ in range(TURNS):
            without, with_instances = _health_p99(empty, plan), _health_p99(full, plan)
            measurements.add("idle instances health p99 without", tested.name, without)
            measurements.add("idle instances health p99 with", tested.name, with_instances)
            measurements.add("idle instances health p99 to without", tested.name, with_instances / without)
    yield


def _health_p99(server: RunningServer, plan: Plan) -> float:
    figures = server.load(get="/v1/health", ms=max(plan.request_ms, 500), warmup_ms=100, pause_us=PAUSE_US)
    p99: float = figures["p99_us"]
    return p99
