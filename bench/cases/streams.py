"""The event stream: a flood of 200-byte notifications to some readers, and the way of a single event."""

from __future__ import annotations

from collections.abc import Iterator

from bench.contender import Contender
from bench.ledger import Ledger
from bench.plan import Plan


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    for readers, events in plan.flood_events:
        with contender.running() as server:
            server.add_instances(["b"])
            figures = server.read_stream_with_cpu(
                server_id="b", mode="flood", readers=readers, count=events, bytes=200
            )
        ledger.events(contender.name, figures)
        ledger.add(f"stream x{readers} events", contender.name, figures["events_per_second"])
        ledger.add(f"stream x{readers} cpu", contender.name, figures["cpu_us"])
        ledger.add(f"stream x{readers} lost", contender.name, figures["missing"] / figures["expected"])
        yield
    with contender.running() as server:
        server.add_instances(["b"])
        figures = server.read_stream(server_id="b", mode="stamp", readers=1, count=plan.stamps, pause_us=1000)
    ledger.events(contender.name, figures)
    ledger.add("event latency p50", contender.name, figures["p50_us"])
    ledger.add("event latency p99", contender.name, figures["p99_us"])
    yield
