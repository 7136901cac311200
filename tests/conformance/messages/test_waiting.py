"""How long a POST waits: the silence clock and Prefer."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.event_stream import answers, method_is
from tests.support.clients.raw_http import Answer
from tests.support.problems import assert_problem
from tests.support.server_process import ServerProcess

SETTINGS = {"SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "600"}


@pytest.fixture
def impatient(module_server: ServerProcess) -> Iterator[Acp]:
    """A server that gives up after 600 ms of silence."""
    yield module_server.acp
    for row in module_server.acp.list():
        module_server.acp.delete(row["serverId"])


def assert_timeout(answer: Answer) -> None:
    problem = assert_problem(answer, 504, "timeout", "Timeout")
    assert problem["detail"] == "timeout"
    assert problem["details"] == {"message": "timed out waiting for agent response"}


@pytest.mark.serial
@pytest.mark.clause("spec1-3.6-timeout", "decision-13", "promise-F")
def test_silence_is_504_and_the_late_answer_is_on_the_stream(impatient: Acp) -> None:
    server_id = impatient.start()
    with impatient.stream(server_id) as stream:
        began = time.monotonic()
        assert_timeout(impatient.send(server_id, "test/answer_after", {"ms": 1500}, request_id="slow"))
        assert 0.5 < time.monotonic() - began < 1.4
        event = stream.until(answers("slow"))[-1]
        assert event.json()["result"] == {"late": 1500}
    assert impatient.call(server_id, "test/echo")


def test_the_same_id_can_be_used_again_after_a_time_out(impatient: Acp) -> None:
    server_id = impatient.start()
    assert_timeout(impatient.send(server_id, "test/silent", request_id=1))
    assert impatient.send(server_id, "test/echo", request_id=1).status == 200


@pytest.mark.clause("decision-13", "promise-F")
def test_every_line_of_the_agent_restarts_the_clock(impatient: Acp) -> None:
    """1.8 s of talk, three times the limit; then silence for the limit."""
    server_id = impatient.start()
    impatient.notify(server_id, "test/flood", {"count": 9, "batch": 1, "pause_ms": 200, "background": True})
    began = time.monotonic()
    assert_timeout(impatient.send(server_id, "test/silent"))
    assert time.monotonic() - began > 1.8


@pytest.mark.clause("decision-13")
def test_the_clock_stands_still_while_the_agent_waits_for_the_client(impatient: Acp) -> None:
    server_id = impatient.start()
    waiting = impatient.in_background(impatient.send, server_id, "test/hold", request_id="turn")
    impatient.wait_until_pending(server_id, 1)
    impatient.notify(server_id, "test/ask_client", {"id": "permission"})
    with impatient.stream(server_id) as stream:
        stream.until(method_is("client/ask"))
        assert stream.has_nothing_for(1.5)
        assert not waiting.done()
        impatient.post(server_id, {"id": "permission", "result": "allow"})
        stream.until(method_is("test/client_answered"))
        impatient.notify(server_id, "test/release")
    assert waiting.result(5).status == 200


@pytest.mark.clause("decision-13")
def test_the_clock_goes_on_once_the_client_has_answered(impatient: Acp) -> None:
    server_id = impatient.start()
    waiting = impatient.in_background(impatient.send, server_id, "test/silent", request_id="turn")
    impatient.notify(server_id, "test/ask_client", {"id": 5})
    with impatient.stream(server_id) as stream:
        stream.until(method_is("client/ask"))
    impatient.post(server_id, {"id": 5, "error": {"code": 1, "message": "no"}})
    assert_timeout(waiting.result(5))


@pytest.mark.clause("decision-13")
def test_prefer_wait_shortens_the_limit_for_one_request(acp: Acp, server_id: str) -> None:
    began = time.monotonic()
    assert_timeout(acp.send(server_id, "test/silent", headers={"prefer": "wait=1"}))
    assert 0.9 < time.monotonic() - began < 2.5


@pytest.mark.clause("decision-49")
def test_prefer_wait_counts_while_a_request_of_the_agent_is_unanswered(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        acp.notify(server_id, "test/ask_client", {"id": 5})
        stream.until(method_is("client/ask"))
    patient = acp.in_background(acp.send, server_id, "test/hold", request_id="patient")
    began = time.monotonic()
    assert_timeout(acp.send(server_id, "test/silent", headers={"prefer": "wait=1"}))
    assert 0.9 < time.monotonic() - began < 4
    acp.notify(server_id, "test/release")
    assert patient.result(5).status == 200, "a call without a limit of its own waits on"


@pytest.mark.clause("decision-49")
def test_prefer_wait_starts_again_with_every_line(acp: Acp, server_id: str) -> None:
    acp.notify(server_id, "test/ask_client", {"id": 5})
    slow = acp.in_background(
        acp.send,
        server_id,
        "test/answer_after",
        {"ms": 1400},
        request_id="slow",
        headers={"prefer": "wait=1"},
    )
    for _ in range(6):
        time.sleep(0.2)  # the pauses of the agent are what is tested
        acp.call(server_id, "test/echo")
    assert slow.result(5).status == 200


@pytest.mark.clause("decision-13")
def test_prefer_wait_lengthens_the_limit_for_one_request(impatient: Acp) -> None:
    server_id = impatient.start()
    answer = impatient.send(
        server_id, "test/answer_after", {"ms": 1200}, headers={"prefer": 'respond-sync, Wait="5"; x=y'}
    )
    assert answer.status == 200


@pytest.mark.clause("decision-13")
@pytest.mark.parametrize("prefer", ["wait=abc", "wait", "wait=-1", "wait=", "foo=bar", "wait=1e9e"])
def test_a_preference_that_cannot_be_read_is_ignored(acp: Acp, server_id: str, prefer: str) -> None:
    assert acp.send(server_id, "test/answer_after", {"ms": 50}, headers={"prefer": prefer}).status == 200


@pytest.mark.clause("decision-14")
def test_respond_async_is_202_at_once_and_the_answer_is_on_the_stream(acp: Acp, server_id: str) -> None:
    with acp.stream(server_id) as stream:
        answer = acp.send(server_id, "test/hold", request_id="a", headers={"prefer": "respond-async"})
        assert (answer.status, answer.body) == (202, b"")
        acp.notify(server_id, "test/release")
        assert stream.until(answers("a"))[-1].json()["result"] == {"released": True}


@pytest.mark.clause("decision-14")
def test_respond_async_starts_the_agent_too(acp: Acp) -> None:
    server_id = acp.new_id()
    answer = acp.send(
        server_id, "test/echo", request_id="a", agent=AGENT, headers={"prefer": "respond-async, wait=10"}
    )
    assert answer.status == 202
    with acp.stream(server_id) as stream:
        stream.until(answers("a"))


@pytest.mark.clause("decision-14")
def test_an_id_sent_asynchronously_is_in_flight_until_it_is_answered(acp: Acp, server_id: str) -> None:
    prefer = {"prefer": "respond-async"}
    assert acp.send(server_id, "test/hold", {"v": 1}, request_id="a", headers=prefer).status == 202
    assert_problem(acp.send(server_id, "test/hold", {"v": 2}, request_id="a"), 409, "conflict")
    with acp.open_post(server_id, message("test/hold", {"v": 1}, "a")) as joined:
        acp.call(server_id, "test/echo")
        acp.notify(server_id, "test/release")
        assert joined.read_answer().status == 200


@pytest.mark.serial
@pytest.mark.clause("decision-13", "promise-D")
def test_an_agent_that_does_not_take_the_bytes_is_a_504_and_delays_no_other_instance(impatient: Acp) -> None:
    server_id, other = impatient.start(), impatient.start()
    impatient.call(server_id, "test/stop_reading")
    big = message("x", {"pad": "y" * 1_000_000})
    posts = [impatient.in_background(impatient.post, server_id, big) for _ in range(3)]
    ask = impatient.in_background(impatient.send, server_id, "test/echo")
    assert impatient.call(other, "test/echo", timeout=2)
    with impatient.stream(server_id, timeout=2) as stream:
        assert stream.next_message().number == 1
    assert {call.result(6).status for call in posts} <= {202, 504}
    assert_timeout(ask.result(6))
    began = time.monotonic()
    assert impatient.delete(server_id).status == 204
    assert time.monotonic() - began < 1.5


@pytest.mark.clause("decision-13")
def test_junk_and_zero_mean_the_default_limit(start_server) -> None:
    for value in ("0", "junk"):
        acp = start_server(settings={"SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": value}).acp
        assert acp.send(acp.start(), "test/answer_after", {"ms": 300}).status == 200
