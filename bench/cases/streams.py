"""The event stream: a flood of 200-byte notifications to several readers, and the latency of one event."""

from __future__ import annotations

from collections.abc import Iterator

from bench.plan import Plan
from bench.results.measurements import Measurements
from bench.server_under_test import ServerUnderTest


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    for readers, events in plan.flood_events:
        with tested.running() as server:
            server.add_instances(["b"])
            server.load(server_id="b", bytes=200, ms=plan.warmup_ms)
            figures = server.read_stream_with_cpu(
                server_id="b", mode="flood", readers=readers, count=events, bytes=200
            )
        measurements.count_events(tested.name, figures)
        measurements.add(f"stream x{readers} events", tested.name, figures["events_per_second"])
        measurements.add(f"stream x{readers} cpu", tested.name, figures["cpu_us"])
        measurements.add(f"stream x{readers} lost", tested.name, figures["missing"] / figures["expected"])
        yield
    with tested.running() as server:
        server.add_instances(["b"])
        server.load(server_id="b", bytes=200, ms=plan.warmup_ms)
        figures = server.read_stream(server_id="b", mode="stamp", readers=1, count=plan.stamps, pause_us=1000)
    measurements.count_events(tested.name, figures)
    measurements.add("event latency p50", tested.name, figures["p50_us"])
    measurements.add("event latency p99", tested.name, figures["p99_us"])
    yield
