"""The invariants that hold after every fault.

Logs have no gap and no duplicate; every request is answered exactly once or fails with a problem; processes
of ended agents are gone; memory, descriptors, threads and tasks are bounded; health answers within a second.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

from tests.chaos.seeds.chaos_run import FLOOD, ChaosRun, ReadLog
from tests.support.clients.event_stream import Event
from tests.support.processes import (
    is_alive,
    open_descriptors,
    resident_bytes,
    wait_until,
    wait_until_dead,
    zombies_of,
)

MEMORY_BOUND = 250 << 20
# A busy machine may delay one answer, not six in a row.
HEALTH_TRIES = 6
# 404: closed meanwhile; 502: the agent ended; 503: too many, or stopping; 504: silence.
EXPECTED_FAILURES = {404, 502, 503, 504}


def check(run: ChaosRun) -> None:
    healthy(run)
    requests_ended(run)
    for server_id in sorted(run.logs):
        log_is_gapless(run, server_id)
    nothing_survives(run)
    bounded(run)


def healthy(run: ChaosRun) -> None:
    slow = []
    for _ in range(HEALTH_TRIES):
        began = time.monotonic()
        answer = run.server.client.get("/v1/health", timeout=15)
        assert answer.status == 200, answer.body
        slow.append(time.monotonic() - began)
        if slow[-1] < 1:
            return
    raise AssertionError(f"health takes {slow} s")


def requests_ended(run: ChaosRun) -> None:
    """Each request has ended: with the agent's answer, or with a problem."""
    for asked in run.asked:
        answer = asked.future.result(30)
        if answer.status == 200:
            assert answer.json()["id"] == asked.request_id, answer.body[:300]
            run.read_log(asked.server_id).answered.add(asked.request_id)
        else:
            problem = answer.json()
            assert answer.header("content-type") == "application/problem+json"
            assert problem["status"] == answer.status and problem["detail"]
            assert answer.status in EXPECTED_FAILURES, (asked, problem)
    run.asked.clear()


def log_is_gapless(run: ChaosRun, server_id: str) -> None:
    row = run.acp.entry(server_id)
    log = run.read_log(server_id)
    if row is None:
        log.answered.clear()
        return
    if log.position < row["lastEventId"]:
        _read(run, server_id, log, row["lastEventId"])
    elif log.position > row["lastEventId"]:
        raise AssertionError(f"{server_id}: numbers went back from {log.position} to {row['lastEventId']}")
    twice = [request_id for request_id, count in log.answers.items() if count > 1]
    assert not twice, f"answered more than once on the stream: {twice}"
    unseen = [request_id for request_id in log.answered if request_id not in log.answers]
    assert not unseen, f"answered, but not on the stream: {unseen}"
    log.answered.clear()
    for base, count in list(log.floods.items()):
        if count:
            assert log.ticks[base] == count, f"{log.ticks[base]} of {count} ticks"
            log.floods[base] = 0
            del log.ticks[base]


def _read(run: ChaosRun, server_id: str, log: ReadLog, until: int) -> None:
    with run.acp.stream(server_id, log.position, timeout=15) as stream:
        while log.position < until:
            event = stream.next_message(15)
            if event.kind == "gap":
                assert log.may_gap, f"{server_id}: a gap after {log.position}: {event.data!r}"
                log.position = event.json()["oldest"] - 1
                log.floods = dict.fromkeys(log.floods, 0)
                log.answered.clear()
                log.last_tick = 0
                continue
            assert event.number == log.position + 1, (server_id, log.position, event.number)
            log.position = event.number
            _note(log, event)
    log.may_gap = False


def _note(log: ReadLog, event: Event) -> None:
    content: Any = json.loads(event.data)
    if not isinstance(content, dict):
        return
    if content.get("method") == "test/tick":
        tick = content["params"]["n"]
        in_order = tick == log.last_tick + 1 or tick % FLOOD == 1 or log.last_tick == 0
        assert in_order, f"tick {tick} after {log.last_tick}"
        log.last_tick = tick
        log.ticks[tick // FLOOD] += 1
    elif "method" not in content and isinstance(content.get("id"), str):
        log.answers[content["id"]] += 1


def nothing_survives(run: ChaosRun) -> None:
    for server_id, children in list(run.children.items()):
        if not all(is_alive(one) for one in children):
            row = run.acp.entry(server_id)
            ended = row is None or row["status"] != "running"
            assert ended, f"a child of the living {server_id} was killed"
            run.agent_ended(server_id)
    wait_until_dead(run.must_end, 15)
    run.must_end.clear()
    wait_until(lambda: not zombies_of(run.server.pid), 10, "no zombies")


def bounded(run: ChaosRun) -> None:
    memory = resident_bytes(run.server.pid)
    assert memory < MEMORY_BOUND, f"{memory >> 20} MB"
    rows = len(run.acp.list())
    allowed = 40 + 14 * rows + len(run.open_connections)
    assert open_descriptors(run.server.pid) <= allowed, (rows, os.listdir(f"/proc/{run.server.pid}/fd"))
    assert len(os.listdir(f"/proc/{run.server.pid}/task")) <= 64
    tasks = run.server.tasks()
    assert len(tasks) <= 8 + 4 * rows + len(run.open_connections), tasks


def at_rest(run: ChaosRun) -> None:
    """After everything is closed nothing is left but the server and its watchdog."""
    for connection in run.open_connections:
        connection.close()
    run.open_connections.clear()
    for request in run.slow_requests:
        request.result(40)
    futures = [run.acp.in_background(run.close, row["serverId"]) for row in run.acp.list()]
    for future in futures:
        future.result(20)
    check(run)
    wait_until(lambda: len(run.server.marked_processes()) <= 2, 15, "only the server and its watchdog")
    wait_until(lambda: open_descriptors(run.server.pid) <= 24, 15, "the descriptors of a resting server")
    wait_until(lambda: not run.server.tasks(), 15, "no task")
    wait_until(lambda: not _kept(run.spill), 10, "no spill file of a closed instance")
    strays = [path for path in run.server.home.rglob("*") if path.is_file()]
    assert not strays, strays


def _kept(spill: Path) -> list[Path]:
    return [path for path in spill.rglob("*") if path.is_file() and path.name != "lock"]
