"""Resident memory of the server and its watchdog: idle, per instance, after use, after large messages.

The watchdog starts with the first agent, so idle memory is measured before and after it. Proportional memory
counts pages shared by several processes once; the watchdog shares many with the server.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import process_usage
from bench.plan import MB, Plan
from bench.results.measurements import Measurements
from bench.server_under_test import RunningServer, ServerUnderTest

INSTANCES = 100
SETTLE_SECONDS = 0.5


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    with tested.running() as server:
        _record("memory idle", server, measurements)
        server.add_instances(["m-0"])
        with_one = _record("memory one instance", server, measurements)
        server.add_instances([f"m-{n}" for n in range(1, INSTANCES)])
        time.sleep(SETTLE_SECONDS)
        grown = process_usage.memory(server.pid).resident_kb - with_one
        measurements.add("memory per instance", tested.name, grown / (INSTANCES - 1))
        used = server.load(
            server_id="m",
            instances=INSTANCES,
            connections=INSTANCES,
            requests=plan.used_messages,
            bytes=200,
        )
        measurements.count_requests(tested.name, used)
        _record("memory used instances", server, measurements)
    yield
    with tested.running() as server:
        server.add_instances(["b"])
        large = server.load(server_id="b", connections=4, requests=plan.large_messages // 4, bytes=MB)
        measurements.count_requests(tested.name, large)
        _record("memory large messages", server, measurements)
    yield


def _record(figure: str, server: RunningServer, measurements: Measurements) -> int:
    time.sleep(SETTLE_SECONDS)
    now = process_usage.memory(server.pid)
    measurements.add(figure, server.name, now.resident_kb)
    measurements.add(f"{figure} proportional", server.name, now.proportional_kb)
    return now.resident_kb
