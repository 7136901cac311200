"""From starting the command to the first healthy answer, and to the first answer of an agent."""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench.contender import Contender
from bench.ledger import Ledger
from bench.plan import Plan


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    for _ in range(plan.starts):
        with contender.prepared() as server:
            begun = time.perf_counter()
            server.launch()
            server.wait_until_healthy()
            ledger.add("start to health", contender.name, (time.perf_counter() - begun) * 1000)
        with contender.prepared() as server:
            begun = time.perf_counter()
            server.launch()
            server.first_acp_answer()
            ledger.add("start to acp", contender.name, (time.perf_counter() - begun) * 1000)
        yield
