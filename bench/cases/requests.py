"""Request and answer: throughput, latency and CPU per request, by message size and number of connections.

Each size and number of connections has a fresh server with one instance; each connection is a closed loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.plan import Plan
from bench.results.measurements import Measurements
from bench.server_under_test import ServerUnderTest


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    for label, size, connection_counts in plan.sizes:
        for connections in connection_counts:
            with tested.running() as server:
                server.add_instances(["b"])
                figures = server.load_with_cpu(
                    server_id="b",
                    bytes=size,
                    connections=connections,
                    ms=plan.request_ms,
                    warmup_ms=plan.warmup_ms,
                )
            measurements.count_requests(tested.name, figures)
            case = f"request {label} x{connections}"
            measurements.add(f"{case} throughput", tested.name, figures["per_second"])
            measurements.add(f"{case} p50", tested.name, figures["p50_us"])
            measurements.add(f"{case} p99", tested.name, figures["p99_us"])
            measurements.add(f"{case} cpu", tested.name, figures["cpu_us"])
            yield
