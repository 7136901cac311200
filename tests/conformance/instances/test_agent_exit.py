"""The agent exits: the errors of its requests, how soon they come, and the next start."""

from __future__ import annotations

import signal
import time

import pytest

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.event_stream import method_is
from tests.support.problems import assert_problem
from tests.support.processes import wait_until

ECHO = message("test/echo", request_id=1)


def wait_for_exit(acp: Acp, server_id: str) -> dict:
    def exited():
        row = acp.entry(server_id)
        return row if row is not None and row["status"] == "exited" else None

    return wait_until(exited, 5, "status exited")


@pytest.mark.serial
@pytest.mark.clause("spec1-3.6-subprocess", "decision-16", "promise-G")
@pytest.mark.parametrize("code", [0, 3, 255])
def test_waiting_requests_get_502_within_a_second_with_code_and_stderr(
    acp: Acp, server_id: str, code: int
) -> None:
    waiting = [acp.in_background(acp.send, server_id, "test/silent", request_id=f"w{n}") for n in range(5)]
    acp.wait_until_pending(server_id, 5)
    began = time.monotonic()
    answer = acp.send(server_id, "test/exit", {"code": code, "stderr": "boom: no API key"})
    answers = [answer, *(call.result(5) for call in waiting)]
    assert time.monotonic() - began < 1.0
    for each in answers:
        problem = assert_problem(each, 502, "agent_process_exited", "Agent Process Exited")
        assert problem["detail"] == f"agent process exited: {AGENT}"
        assert problem["agent"] == AGENT
        assert problem["details"] == {"exitCode": code, "stderr": "boom: no API key"}


@pytest.mark.clause("decision-16")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGABRT])
def test_an_exit_by_signal_is_reported_with_its_name(
    acp: Acp, server_id: str, number: signal.Signals
) -> None:
    with acp.stream(server_id) as stream:
        problem = assert_problem(
            acp.send(server_id, "test/kill_self", {"signal": number}), 502, "agent_process_exited"
        )
        assert problem["details"] == {"signal": number.name}
        event = stream.until(method_is("_adapter/agent_exited"))[-1]
    assert event.json()["params"] == {"code": None, "success": False}
    row = wait_for_exit(acp, server_id)
    assert row["signal"] == number.name
    assert "exitCode" not in row


@pytest.mark.clause("decision-16")
@pytest.mark.parametrize(("code", "success"), [(0, True), (7, False)])
def test_the_exit_is_the_last_event_on_the_stream_and_the_stream_stays_open(
    acp: Acp, server_id: str, code: int, success: bool
) -> None:
    with acp.stream(server_id) as stream:
        acp.call(server_id, "test/flood", {"count": 500})
        acp.notify(server_id, "test/exit", {"code": code})
        events = stream.until(method_is("_adapter/agent_exited"))
        assert events[-1].data == (
            b'{"jsonrpc":"2.0","method":"_adapter/agent_exited","params":{"code":%d,"success":%s}}'
            % (code, b"true" if success else b"false")
        )
        assert [event.number for event in events] == list(range(1, 504))
        assert stream.has_nothing_for(0.3)


@pytest.mark.clause("promise-G")
def test_everything_on_stdout_comes_before_the_exit(acp: Acp, server_id: str) -> None:
    """A flood that is still in the pipe when the process is gone."""
    with acp.stream(server_id) as stream:
        acp.notify(server_id, "test/flood", {"count": 1000, "size": 50})
        acp.notify(server_id, "test/exit")
        events = stream.until(method_is("_adapter/agent_exited"))
    assert len(events) == 1002
    assert events[-2].json()["params"]["n"] == 1000


@pytest.mark.clause("promise-G")
def test_an_answer_written_just_before_the_exit_is_delivered(acp: Acp, server_id: str) -> None:
    for _ in range(5):
        answer = acp.send(server_id, "test/half_line_exit", agent=AGENT)
        assert answer.status == 200
        wait_for_exit(acp, server_id)


@pytest.mark.clause("decision-16")
def test_the_list_shows_the_exit(acp: Acp, server_id: str) -> None:
    acp.send(server_id, "test/exit", {"code": 3})
    row = wait_for_exit(acp, server_id)
    assert row["exitCode"] == 3
    assert "signal" not in row
    assert row["pendingRequests"] == 0


@pytest.mark.clause("spec1-4-lifecycle-only", "decision-16")
def test_the_next_post_gets_the_same_facts_until_it_names_the_agent(acp: Acp, server_id: str) -> None:
    first = acp.send(server_id, "test/exit", {"code": 9, "stderr": "why"})
    wait_for_exit(acp, server_id)
    for body in (ECHO, message("test/note"), b'{"id":1,"result":2}'):
        problem = assert_problem(acp.post(server_id, body), 502, "agent_process_exited")
        assert problem == first.json()
    assert_problem(acp.post(server_id, ECHO, agent="pi"), 409, "conflict")
    assert acp.post(server_id, ECHO, agent=AGENT).status == 200
    row = acp.entry(server_id)
    assert row["status"] == "running"
    assert "exitCode" not in row and "signal" not in row
    assert acp.post(server_id, ECHO).status == 200


@pytest.mark.clause("decision-5")
def test_numbers_and_stream_go_on_over_a_restart(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        acp.send(server_id, "test/exit", {"code": 1})
        wait_for_exit(acp, server_id)
        acp.call(server_id, "test/echo", request_id="fresh", agent=AGENT)
        events = stream.take(3)
    assert [event.number for event in events] == [1, 2, 3]
    assert events[1].json()["method"] == "_adapter/agent_exited"
    assert events[2].json()["id"] == "fresh"
    with acp.stream(server_id) as again:
        assert [event.number for event in again.take(3)] == [1, 2, 3]


def test_a_stream_of_an_exited_instance_replays_what_was_said(acp: Acp, server_id: str) -> None:
    acp.send(server_id, "test/exit")
    wait_for_exit(acp, server_id)
    with acp.stream(server_id) as stream:
        assert stream.take(2)[1].json()["method"] == "_adapter/agent_exited"


@pytest.mark.clause("promise-G")
def test_an_agent_that_ends_before_its_first_line_fails_the_first_post(acp: Acp) -> None:
    server_id = acp.new_id()
    answer = acp.send(server_id, "test/exit", {"code": 4, "stderr": "no config"}, agent=AGENT)
    problem = assert_problem(answer, 502, "agent_process_exited")
    assert problem["details"] == {"exitCode": 4, "stderr": "no config"}
    assert acp.post(server_id, ECHO, agent=AGENT).status == 200


@pytest.mark.clause("decision-16", "promise-D")
def test_the_tail_of_stderr_is_kept_and_bounded(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/stderr", {"bytes": 1_000_000})
    problem = acp.send(server_id, "test/exit", {"code": 1, "stderr": "the very end"}).json()
    tail = problem["details"]["stderr"]
    assert tail.endswith("the very end")
    assert len(tail.encode()) <= 64 << 10


def test_a_clean_exit_without_stderr_has_no_stderr_member(acp: Acp, server_id: str) -> None:
    problem = acp.send(server_id, "test/exit", {"code": 0}).json()
    assert problem["details"] == {"exitCode": 0}


def test_stderr_that_is_not_utf8_is_shown_with_replacement(acp: Acp, server_id: str) -> None:
    acp.call(
        server_id, "test/stderr", {"text": "ok \udcff".encode("utf-8", "surrogatepass").decode("latin-1")}
    )
    problem = acp.send(server_id, "test/exit", {"code": 1}).json()
    assert problem["details"]["stderr"].startswith("ok ")


@pytest.mark.serial
@pytest.mark.clause("promise-G")
def test_a_grandchild_that_holds_stdout_does_not_hide_the_exit(acp: Acp, server_id: str) -> None:
    acp.call(server_id, "test/fork_setsid", {"hold_stdout": True})
    waiting = acp.in_background(acp.send, server_id, "test/silent", request_id="w")
    acp.wait_until_pending(server_id, 1)
    began = time.monotonic()
    acp.notify(server_id, "test/exit", {"code": 5})
    problem = assert_problem(waiting.result(6), 502, "agent_process_exited")
    assert problem["details"]["exitCode"] == 5
    assert time.monotonic() - began < 1.5
