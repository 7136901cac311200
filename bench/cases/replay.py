"""Replay from disk: a new reader gets 100,000 events of 4 KB, most of which left memory long ago.

Its speed is compared with copying the same number of bytes through one loopback socket, and the latency of
another instance during the replay with that before it. The copy runs beside the same load too, because
reader, load and agent share a processor and any transfer disturbs them somewhat. Nothing is started while the
load counts: starting a program takes a processor longer than many requests do.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from typing import Any

from bench.contender import Contender, Server
from bench.ledger import Ledger
from bench.places import LOAD_CPU, SERVER_CPU
from bench.plan import Plan
from bench.programs import result_of, run, start

EVENT_BYTES = 4096
PAUSE_US = 1000
PROBE_MS, WARMUP_MS = 1000, 100
# What the load is measured beside begins before it and ends after it.
BESIDE_MS = PROBE_MS + 3 * WARMUP_MS
TURNS = 3


def measure(contender: Contender, plan: Plan, ledger: Ledger) -> Iterator[None]:
    name = contender.name
    with contender.running() as server:
        server.add_instances(["replay", "other"])
        _publish(server, plan.replay_events)
        for _ in range(TURNS):
            alone, copy = _replay_and_copy(server, plan.replay_events, ledger)
            before = _probe(server)
            replays = _start_replays(server, plan.replay_events, again_ms=BESIDE_MS)
            during = _probe(server)
            beside = result_of(replays)
            ledger.events(name, beside)
            ledger.requests(name, before)
            ledger.requests(name, during)
            ledger.add("replay other p99 before", name, before["p99_us"])
            ledger.add("replay other p99 during", name, during["p99_us"])
            ledger.add("replay other p99 to before", name, during["p99_us"] / before["p99_us"])
            seconds_each = beside["seconds"] * alone["expected"] / beside["expected"]
            ledger.add("replay beside load speed to copy", name, copy["seconds"] / seconds_each)

        size = alone["wire_bytes"]
        times = 1 + int(BESIDE_MS / 1000 / copy["seconds"])
        copies = start("loopback_copy", bytes=size * times, writer_cpu=SERVER_CPU, reader_cpu=LOAD_CPU)
        copying = _probe(server)
        result_of(copies)

    ledger.requests(name, copying)
    ledger.add("replay other p99 beside a plain copy", name, copying["p99_us"])
    yield


def _probe(server: Server) -> dict[str, Any]:
    return server.load(server_id="other", bytes=200, ms=PROBE_MS, warmup_ms=WARMUP_MS, pause_us=PAUSE_US)


def _publish(server: Server, events: int) -> None:
    """Floods the instance with one live reader, who also proves that all events were published."""
    figures = server.read_stream(server_id="replay", mode="flood", readers=1, count=events, bytes=EVENT_BYTES)
    if figures["missing"]:
        raise RuntimeError(f"{server.contender.name} lost {figures['missing']} events while publishing")


def _replay_and_copy(server: Server, events: int, ledger: Ledger) -> tuple[dict[str, Any], dict[str, Any]]:
    """One replay with nothing beside it, and the same bytes copied."""
    name, alone = server.contender.name, result_of(_start_replays(server, events))
    copy = run("loopback_copy", bytes=alone["wire_bytes"], writer_cpu=SERVER_CPU, reader_cpu=LOAD_CPU)
    ledger.events(name, alone)
    ledger.add("replay seconds", name, alone["seconds"])
    ledger.add("replay copy seconds", name, copy["seconds"])
    ledger.add("replay speed to copy", name, copy["seconds"] / alone["seconds"])
    return alone, copy


def _start_replays(server: Server, events: int, again_ms: int = 0) -> subprocess.Popen[bytes]:
    """One replay, or one after the other for so long."""
    return server.start_read_stream(
        server_id="replay", mode="replay", readers=1, count=events, bytes=EVENT_BYTES, again_ms=again_ms
    )
