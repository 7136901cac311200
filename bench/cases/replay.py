"""Replay from disk: a new reader gets 100,000 events of 4 KB, most of which are no longer in memory.

The speed is compared with a copy of the same number of bytes through one loopback socket, and the latency of
another instance during the replay with its latency before. The copy also runs beside the same load, because
reader, load and agent share a processor and every transfer disturbs them. No program is started during the
measured load, because starting one takes longer than many requests.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

from bench.paths import LOAD_CPU, SERVER_CPU
from bench.plan import Plan
from bench.programs import result_of, run, start
from bench.results.measurements import Measurements
from bench.server_under_test import RunningServer, ServerUnderTest

EVENT_BYTES = 4096
PAUSE_US = 1000
PROBE_MS, WARMUP_MS = 1000, 100
# The replays and copies beside the load begin before it and end after it.
BESIDE_MS = PROBE_MS + 3 * WARMUP_MS
TURNS = 3


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    name = tested.name
    with tested.running() as server:
        server.add_instances(["replay", "other"])
        _publish(server, plan.replay_events)
        for _ in range(TURNS):
            alone, copy = _replay_and_copy(server, plan.replay_events, measurements)
            before = _probe(server)
            replays = _start_replays(server, plan.replay_events, again_ms=BESIDE_MS)
            during = _probe(server)
            beside = result_of(replays)
            measurements.count_events(name, beside)
            measurements.count_requests(name, before)
            measurements.count_requests(name, during)
            measurements.add("replay other p99 before", name, before["p99_us"])
            measurements.add("replay other p99 during", name, during["p99_us"])
            measurements.add("replay other p99 to before", name, during["p99_us"] / before["p99_us"])
            seconds_each = beside["seconds"] * alone["expected"] / beside["expected"]
            measurements.add("replay beside load speed to copy", name, copy["seconds"] / seconds_each)

        size = alone["wire_bytes"]
        times = 1 + int(BESIDE_MS / 1000 / copy["seconds"])
        copies = start("loopback_copy", bytes=size * times, writer_cpu=SERVER_CPU, reader_cpu=LOAD_CPU)
        copying = _probe(server)
        result_of(copies)

    measurements.count_requests(name, copying)
    measurements.add("replay other p99 beside a plain copy", name, copying["p99_us"])
    yield


def _probe(server: RunningServer) -> dict[str, Any]:
    return server.load(server_id="other", bytes=200, ms=PROBE_MS, warmup_ms=WARMUP_MS, pause_us=PAUSE_US)


def _publish(server: RunningServer, events: int) -> None:
    """Flood the instance with one live reader, which also checks that all events were published."""
    figures = server.read_stream(server_id="replay", mode="flood", readers=1, count=events, bytes=EVENT_BYTES)
    if figures["missing"]:
        raise RuntimeError(f"{server.name} lost {figures['missing']} events while publishing")


def _replay_and_copy(
    server: RunningServer, events: int, measurements: Measurements
) -> tuple[dict[str, Any], dict[str, Any]]:
    """One replay without other load, and a copy of the same number of bytes."""
    name, alone = server.name, result_of(_start_replays(server, events))
    copy = run("loopback_copy", bytes=alone["wire_bytes"], writer_cpu=SERVER_CPU, reader_cpu=LOAD_CPU)
    measurements.count_events(name, alone)
    measurements.add("replay seconds", name, alone["seconds"])
    measurements.add("replay copy seconds", name, copy["seconds"])
    measurements.add("replay speed to copy", name, copy["seconds"] / alone["seconds"])
    return alone, copy


def _start_replays(server: RunningServer, events: int, again_ms: int = 0) -> subprocess.Popen[bytes]:
    """One replay, or replays in a row for `again_ms`."""
    return server.start_read_stream(
        server_id="replay", mode="replay", readers=1, count=events, bytes=EVENT_BYTES, again_ms=again_ms
    )
