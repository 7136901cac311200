"""GET /v1/acp: what lives, and the truth about it."""

from __future__ import annotations

import time

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.processes import wait_until

KEYS = {
    "serverId",
    "agent",
    "createdAtMs",
    "status",
    "pid",
    "pendingRequests",
    "lastEventId",
    "subscribers",
    "lastActivityMs",
}


@pytest.mark.clause("spec1-3.1-list", "spec1-6-list-is-process-status", "decision-20")
def test_a_row_has_exactly_the_promised_keys(acp: Acp) -> None:
    before = int(time.time() * 1000) - 1
    server_id = acp.start()
    pid = acp.call(server_id, "test/info")["pid"]
    row = acp.entry(server_id)
    assert row is not None
    assert set(row) == KEYS
    assert row["agent"] == AGENT
    assert row["status"] == "running"
    assert row["pid"] == pid
    assert row["pendingRequests"] == 0
    assert row["lastEventId"] == 2
    assert row["subscribers"] == 0
    assert before <= row["createdAtMs"] <= row["lastActivityMs"] <= int(time.time() * 1000) + 1


def test_an_instance_is_created_before_its_first_message(acp: Acp) -> None:
    for attempt in range(3):
        server_id = f"quiet-{attempt}"
        assert acp.post(server_id, b'{"method":"test/none"}', agent=AGENT).status == 202
        row = acp.entry(server_id)
        assert row is not None
        assert row["createdAtMs"] <= row["lastActivityMs"]
        acp.delete(server_id)


@pytest.mark.ours
@pytest.mark.clause("http-created-at")
def test_the_answer_to_a_post_with_agent_says_since_when_the_instance_runs(acp: Acp) -> None:
    name = "x-sandbox-agent-created-at-ms"
    first = acp.post("dated", b'{"id":1,"method":"test/info"}', agent=AGENT)
    again = acp.post("dated", b'{"id":2,"method":"test/info"}', agent=AGENT)
    without = acp.post("dated", b'{"id":3,"method":"test/info"}')
    row = acp.entry("dated")
    assert row is not None
    assert first.header(name) == again.header(name) == str(row["createdAtMs"])
    assert without.header(name) is None


@pytest.mark.clause("spec1-3.1-list")
def test_rows_are_sorted_by_server_id(acp: Acp) -> None:
    ids = ["zeta", "alpha", "Mid", "10", "9"]
    for server_id in ids:
        acp.start(server_id)
    assert [row["serverId"] for row in acp.list()] == sorted(ids)


@pytest.mark.clause("decision-20")
def test_counts_follow_what_happens(acp: Acp, server_id: str) -> None:
    held = acp.in_background(acp.send, server_id, "test/hold", request_id="h")
    with acp.stream(server_id):
        wait_until(lambda: acp.entry(server_id)["subscribers"] == 1, 5, "one subscriber")
        wait_until(lambda: acp.entry(server_id)["pendingRequests"] == 1, 5, "one pending request")
    acp.notify(server_id, "test/release")
    held.result(5)
    wait_until(lambda: acp.entry(server_id)["pendingRequests"] == 0, 5, "no pending request")
    wait_until(lambda: acp.entry(server_id)["subscribers"] == 0, 5, "no subscriber")
    assert acp.entry(server_id)["lastEventId"] == 2


@pytest.mark.clause("decision-20")
def test_last_activity_moves_with_messages_in_either_direction(acp: Acp, server_id: str) -> None:
    first = acp.entry(server_id)["lastActivityMs"]
    wait_until(lambda: int(time.time() * 1000) > first + 5, 1, "a later clock")
    acp.notify(server_id, "test/none")
    second = acp.entry(server_id)["lastActivityMs"]
    assert second > first
    acp.notify(server_id, "test/write", {"hex": b"{}\n".hex(), "after_ms": 30, "answer": False})
    wait_until(lambda: acp.entry(server_id)["lastEventId"] == 2, 5, "the agent's line")
    assert acp.entry(server_id)["lastActivityMs"] > second


@pytest.mark.clause("spec1-6-list-is-process-status")
def test_a_closed_id_is_not_listed_and_an_exited_one_is(acp: Acp) -> None:
    closed, exited = acp.start(), acp.start()
    acp.delete(closed)
    acp.send(exited, "test/exit", {"code": 2})
    assert acp.entry(closed) is None
    row = acp.entry(exited)
    assert row is not None
    assert set(row) == KEYS | {"exitCode"}
    assert (row["status"], row["exitCode"]) == ("exited", 2)


def test_a_restart_of_a_closed_id_is_a_new_instance(acp: Acp, server_id: str) -> None:
    created = acp.entry(server_id)["createdAtMs"]
    acp.delete(server_id)
    wait_until(lambda: int(time.time() * 1000) > created + 2, 1, "a later clock")
    acp.start(server_id)
    assert acp.entry(server_id)["createdAtMs"] > created


@pytest.mark.clause("spec1-3.5-many-ids-per-agent")
def test_two_hundred_instances_at_once(start_server) -> None:
    server = start_server()
    acp = server.acp
    ids = [f"many-{number:03}" for number in range(200)]

    def first_post(server_id: str) -> int:
        pid: int = acp.call(server_id, "test/info", agent=AGENT, timeout=50)["pid"]
        return pid

    pids = [call.result(50) for call in [acp.in_background(first_post, each) for each in ids]]
    assert len(set(pids)) == 200
    rows = acp.list()
    assert [row["serverId"] for row in rows] == ids
    assert {row["status"] for row in rows} == {"running"}
    again = [acp.in_background(acp.call, each, "test/echo", {"id": each}, timeout=50) for each in ids]
    assert [call.result(50)["echo"]["id"] for call in again] == ids
    deletes = [acp.in_background(acp.delete, each, timeout=20) for each in ids]
    assert {call.result(20).status for call in deletes} == {204}
    assert acp.list() == []
    wait_until(
        lambda: not any("scripted_agent" in line for line in server.marked_processes().values()),
        8,
        "the end of all agents",
    )
