"""DELETE in every state: quick, final, idempotent."""

from __future__ import annotations

import time

import pytest

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.event_stream import method_is
from tests.support.problems import assert_problem
from tests.support.processes import is_alive, wait_until, wait_until_dead

BOUND = 1.5
TREE_BOUND = 5.0


def timed_delete(acp: Acp, server_id: str) -> float:
    began = time.monotonic()
    answer = acp.delete(server_id)
    assert (answer.status, answer.body) == (204, b"")
    assert answer.header("content-type") is None
    return time.monotonic() - began


@pytest.mark.clause("spec1-3.6-unknown-id", "decision-3")
def test_an_id_never_seen_is_404(acp: Acp) -> None:
    server_id = acp.new_id()
    problem = assert_problem(acp.delete(server_id), 404, "session_not_found", "Session Not Found")
    assert problem["sessionId"] == server_id


@pytest.mark.clause("spec1-3.1-delete", "spec1-3.3-delete")
def test_a_living_agent_is_gone_and_the_id_too(acp: Acp, server_id: str) -> None:
    agent_process = acp.call(server_id, "test/info")
    assert timed_delete(acp, server_id) < BOUND
    assert acp.entry(server_id) is None
    wait_until_dead([agent_process], TREE_BOUND)
    assert_problem(acp.client.get(acp.path(server_id)), 404, "session_not_found")
    assert_problem(acp.post(server_id, message("x")), 404, "session_not_found")


@pytest.mark.clause("spec1-3.6-delete-idempotent", "spec1-8-delete", "decision-3")
def test_every_further_delete_is_204_too(acp: Acp, server_id: str) -> None:
    for _ in range(4):
        assert timed_delete(acp, server_id) < BOUND


@pytest.mark.clause("decision-3")
def test_an_exited_agent_can_be_deleted(acp: Acp, server_id: str) -> None:
    assert acp.send(server_id, "test/exit", {"code": 1}).status == 502
    assert timed_delete(acp, server_id) < BOUND
    assert timed_delete(acp, server_id) < BOUND


@pytest.mark.clause("spec1-3.6-delete-idempotent")
def test_parallel_deletes_are_all_204(acp: Acp, server_id: str) -> None:
    calls = [acp.in_background(timed_delete, acp, server_id) for _ in range(20)]
    assert max(call.result(8) for call in calls) < 2.0


@pytest.mark.clause("decision-3", "agents-closed-instance")
def test_pending_requests_are_released_with_502(acp: Acp, server_id: str) -> None:
    calls = [acp.in_background(acp.send, server_id, "test/silent", request_id=f"p{n}") for n in range(5)]
    acp.wait_until_pending(server_id, 5)
    began = time.monotonic()
    assert timed_delete(acp, server_id) < BOUND
    for call in calls:
        problem = assert_problem(call.result(5), 502, "agent_process_exited")
        assert problem["agent"] == AGENT
        assert problem["details"] == {"closed": True}, "the agent did not crash"
    assert time.monotonic() - began < 2.0


@pytest.mark.clause("promise-O")
def test_streams_end_cleanly(acp: Acp, server_id: str) -> None:
    streams = [acp.stream(server_id) for _ in range(3)]
    try:
        assert timed_delete(acp, server_id) < BOUND
        for stream in streams:
            assert stream.read_to_the_clean_end()[0].number == 1
    finally:
        for stream in streams:
            stream.close()


@pytest.mark.clause("decision-3")
def test_an_agent_that_ignores_signals_and_eof_is_killed(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/ignore_signals")
    agent_process = acp.call(server_id, "test/info")
    assert timed_delete(acp, server_id) < BOUND
    assert acp.entry(server_id) is None
    wait_until_dead([agent_process], TREE_BOUND)


@pytest.mark.clause("decision-3")
def test_an_agent_that_does_not_read_and_has_a_full_stdin_is_deleted(acp: Acp, server_id: str) -> None:
    agent_process = acp.call(server_id, "test/info")
    acp.call(server_id, "test/stop_reading")
    pad = {"pad": "y" * 2_000_000}
    calls = [acp.in_background(acp.send, server_id, "x", pad, request_id=number) for number in range(3)]
    acp.wait_until_pending(server_id, 3)
    assert timed_delete(acp, server_id) < BOUND
    assert {call.result(8).status for call in calls} == {502}
    wait_until_dead([agent_process], TREE_BOUND)


@pytest.mark.clause("decision-3")
def test_a_flooding_agent_is_deleted(acp: Acp, server_id: str) -> None:
    agent_process = acp.call(server_id, "test/info")
    acp.call(server_id, "test/flood", {"count": 100_000_000, "size": 200, "background": True})
    with acp.stream(server_id) as stream:
        stream.take(100)
        assert timed_delete(acp, server_id) < BOUND
    wait_until_dead([agent_process], TREE_BOUND)


@pytest.mark.clause("spec1-4-lifecycle-only", "decision-3")
def test_a_new_process_starts_at_once_while_the_old_one_is_dying(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/ignore_signals")
    old = acp.call(server_id, "test/info")
    acp.call(server_id, "test/flood", {"count": 10**9, "size": 10, "background": True, "pause_ms": 1})
    with acp.stream(server_id) as stream:
        stream.until(method_is("test/tick"))
    assert timed_delete(acp, server_id) < BOUND
    began = time.monotonic()
    new = acp.call(server_id, "test/info", agent=AGENT, request_id="new")
    assert time.monotonic() - began < 2.0
    assert new["pid"] != old["pid"]
    wait_until_dead([old], TREE_BOUND)
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/echo", request_id="end")
        events = stream.until(lambda event: b'"id":"end"' in event.data)
    assert not any(b"test/tick" in event.data or b"agent_exited" in event.data for event in events)
    assert [event.json()["id"] for event in events] == ["new", "end"]


@pytest.mark.clause("decision-5")
def test_numbering_goes_on_after_close_and_start(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 20})
    with acp.stream(server_id) as stream:
        last = stream.take(22)[-1].number
    acp.delete(server_id)
    acp.call(server_id, "test/echo", agent=AGENT, request_id="again")
    with acp.stream(server_id, last_event_id=last) as stream:
        event = stream.until(lambda event: b'"again"' in event.data)[-1]
        assert event.number > last
    with acp.stream(server_id) as stream:
        assert stream.next_message().number == event.number


def test_retained_events_are_gone_after_close_and_start(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/flood", {"count": 20})
    acp.delete(server_id)
    acp.call(server_id, "test/echo", agent=AGENT, request_id="again")
    with acp.stream(server_id) as stream:
        first = stream.next_message()
    assert first.json()["id"] == "again"


def test_an_old_position_of_a_restarted_id_is_reported_as_a_gap_or_continued(
    acp: Acp, server_id: str
) -> None:
    acp.call(server_id, "test/flood", {"count": 20})
    acp.delete(server_id)
    acp.call(server_id, "test/echo", agent=AGENT, request_id="again")
    with acp.stream(server_id, last_event_id=3) as stream:
        first = stream.next_message()
        assert first.kind == "gap"
        second = stream.next_message()
        assert first.json() == {"oldest": second.number, "newest": second.number}
        assert second.json()["id"] == "again"


@pytest.mark.clause("decision-3", "promise-I")
def test_delete_in_the_middle_of_many_starts_is_safe(acp: Acp) -> None:
    """POSTs with ?agent= and DELETEs on one id, all at once: every answer is a known one, nothing hangs."""
    server_id = acp.new_id()
    posts = [
        acp.in_background(acp.send, server_id, "test/echo", agent=AGENT, request_id=f"r{n}", timeout=15)
        for n in range(30)
    ]
    deletes = [acp.in_background(acp.delete, server_id) for _ in range(15)]
    statuses = {call.result(15).status for call in posts}
    assert statuses <= {200, 502}
    assert {call.result(15).status for call in deletes} <= {204, 404}
    assert acp.send(server_id, "test/echo", agent=AGENT).status == 200


def test_delete_while_another_id_is_busy_does_not_disturb_it(acp: Acp, server_id: str) -> None:
    other = acp.start()
    bystander = acp.call(other, "test/info")
    child = acp.call(other, "test/double_fork_clean_env")
    acp.call(server_id, "test/ignore_signals")
    held = acp.in_background(acp.send, other, "test/hold", request_id="h")
    acp.wait_until_pending(other, 1)
    assert timed_delete(acp, server_id) < BOUND
    wait_until(lambda: acp.entry(server_id) is None, 5, "the end")
    assert is_alive(bystander)
    assert is_alive(child)
    acp.notify(other, "test/release")
    assert held.result(8).status == 200


@pytest.mark.clause("spec1-8-delete")
@pytest.mark.parametrize("how_often", [30])
def test_start_and_delete_many_times_leaves_nothing(acp: Acp, how_often: int) -> None:
    people = []
    server_id = acp.new_id()
    for _ in range(how_often):
        people.append(acp.call(server_id, "test/info", agent=AGENT))
        assert acp.delete(server_id).status == 204
    wait_until_dead(people, TREE_BOUND)
