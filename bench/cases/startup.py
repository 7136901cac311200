"""Time from the start of the command to the first healthy answer, and to the first answer of an agent."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.plan import Plan
from bench.results.measurements import Measurements
from bench.server_under_test import ServerUnderTest


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    for _ in range(plan.starts):
        with tested.prepared() as server:
            begun = time.perf_counter()
            server.launch()
            server.wait_until_healthy()
            measurements.add("start to health", tested.name, (time.perf_counter() - begun) * 1000)
        with tested.prepared() as server:
            begun = time.perf_counter()
            server.launch()
            server.first_acp_answer()
            measurements.add("start to acp", tested.name, (time.perf_counter() - begun) * 1000)
        yield
