"""Request and answer: throughput, latency and CPU per request, by message size and number of connections.

A fresh server for each size and number of connections, one instance, each connection in a closed loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from bench.contender import Contender
from bench.ledger import Ledger
from bench.plan import Plan


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    for label, size, connection_counts in plan.sizes:
        for connections in connection_counts:
            with contender.running() as server:
                server.add_instances(["b"])
                figures = server.load_with_cpu(
                    server_id="b",
                    bytes=size,
                    connections=connections,
                    ms=plan.request_ms,
                    warmup_ms=plan.warmup_ms,
                )
            ledger.requests(contender.name, figures)
            case = f"request {label} x{connections}"
            ledger.add(f"{case} throughput", contender.name, figures["per_second"])
            ledger.add(f"{case} p50", contender.name, figures["p50_us"])
            ledger.add(f"{case} p99", contender.name, figures["p99_us"])
            ledger.add(f"{case} cpu", contender.name, figures["cpu_us"])
            yield
