"""Many idle instances: the CPU time they cost and what they do to the latency of the health check.

A second server without instances is asked in turns with the first, so that what is compared is measured
within a few seconds.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import processes
from bench.contender import Contender, Server
from bench.ledger import Ledger
from bench.plan import Plan

PAUSE_US = 1000
TURNS = 3


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    with contender.running() as empty, contender.running() as full:
        full.add_instances([f"i-{n}" for n in range(plan.idle_instances)])
        time.sleep(0.5)
        spent, begun = processes.fine_cpu_seconds(full.pid), time.monotonic()
        time.sleep(plan.idle_seconds)
        spent = processes.fine_cpu_seconds(full.pid) - spent
        percent = spent / (time.monotonic() - begun) * 100
        ledger.add("idle instances cpu percent", contender.name, percent)
        for _ in range(TURNS):
            without, with_instances = _health_p99(empty, plan), _health_p99(full, plan)
            ledger.add("idle instances health p99 without", contender.name, without)
            ledger.add("idle instances health p99 with", contender.name, with_instances)
            ledger.add("idle instances health p99 to without", contender.name, with_instances / without)
    yield


def _health_p99(server: Server, plan: Plan) -> float:
    figures = server.load(get="/v1/health", ms=max(plan.request_ms, 500), warmup_ms=100, pause_us=PAUSE_US)
    p99: float = figures["p99_us"]
    return p99
