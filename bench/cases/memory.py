"""Resident memory of the server and its guardian: idle, per instance, after use, after large messages.

The guardian comes with the first agent, so "idle" is noted before and after it. Proportional memory, which
counts pages shared by several processes once, is kept beside it: guardian and server share many.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from bench import processes
from bench.contender import Contender, Server
from bench.ledger import Ledger
from bench.plan import MB, Plan

INSTANCES = 100
SETTLE_SECONDS = 0.5


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    with contender.running() as server:
        _note("memory idle", server, ledger)
        server.add_instances(["m-0"])
        with_one = _note("memory one instance", server, ledger)
        server.add_instances([f"m-{n}" for n in range(1, INSTANCES)])
        time.sleep(SETTLE_SECONDS)
        grown = processes.memory(server.pid).resident_kb - with_one
        ledger.add("memory per instance", contender.name, grown / (INSTANCES - 1))
        used = server.load(
            server_id="m",
            instances=INSTANCES,
            connections=INSTANCES,
            requests=plan.used_messages,
            bytes=200,
        )
        ledger.requests(contender.name, used)
        _note("memory used instances", server, ledger)
    yield
    with contender.running() as server:
        server.add_instances(["b"])
        large = server.load(server_id="b", connections=4, requests=plan.large_messages // 4, bytes=MB)
        ledger.requests(contender.name, large)
        _note("memory large messages", server, ledger)
    yield


def _note(figure: str, server: Server, ledger: Ledger) -> int:
    time.sleep(SETTLE_SECONDS)
    now = processes.memory(server.pid)
    ledger.add(figure, server.contender.name, now.resident_kb)
    ledger.add(f"{figure} proportional", server.contender.name, now.proportional_kb)
    return now.resident_kb
