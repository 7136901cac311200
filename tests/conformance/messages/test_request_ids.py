"""Ids in flight: compared with their type, joined when identical, refused when not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.clients.acp import Acp, message
from tests.support.problems import assert_problem
from tests.support.processes import wait_until


@pytest.mark.clause("decision-10")
def test_ids_of_different_type_are_different_ids(acp: Acp, server_id: str, tmp_path: Path) -> None:
    """All of these wait at once; the answers are then written in reverse order, each to its own caller."""
    ids = [b"1", b"1.0", b'"1"', b"true", b"null", b"[1]", b'{"a":1}', b'""', b"0", b"18446744073709551617"]
    ids += [b"123456789012345678901234567890", b"-1", b"1.5", b"false"]
    record = tmp_path / "stdin"
    acp.call(server_id, "test/record", {"path": str(record)})
    calls = [
        acp.in_background(acp.post, server_id, b'{"id":%s,"method":"test/silent"}' % request_id)
        for request_id in ids
    ]
    wait_until(lambda: record.exists() and record.read_bytes().count(b"\n") == len(ids), 8, "all requests")
    lines = [b'{"id":%s,"result":%d}' % (request_id, number) for number, request_id in enumerate(ids)]
    written = b"\n".join(reversed(lines)) + b"\n"
    acp.notify(server_id, "test/write", {"hex": written.hex()})
    for call, line in zip(calls, lines, strict=True):
        answer = call.result(8)
        assert (answer.status, answer.body) == (200, line)


@pytest.mark.clause("decision-10")
@pytest.mark.parametrize(
    ("asked", "answered"),
    [(b"1", b"1.0"), (b"1.0", b"1"), (b'"1"', b"1"), (b"1", b'"1"'), (b"null", b'"null"'), (b"0", b"false")],
)
def test_an_answer_with_an_id_of_another_type_is_not_the_answer(
    acp: Acp, server_id: str, asked: bytes, answered: bytes
) -> None:
    wrong, right = b'{"id":%s,"result":"wrong"}' % answered, b'{"id":%s,"result":"right"}' % asked
    acp.call(server_id, "test/reply_to_next_line", {"hex": (wrong + b"\n" + right + b"\n").hex()})
    assert acp.post(server_id, b'{"id":%s,"method":"x"}' % asked).body == right


def test_an_id_with_escapes_is_the_same_id_as_without(acp: Acp, server_id: str) -> None:
    answer = b'{"id":"a\\u00e9/\\/","result":1}'
    acp.call(server_id, "test/reply_to_next_line", {"hex": (answer + b"\n").hex()})
    assert acp.post(server_id, '{"id":"aé\\u002f/","method":"x"}'.encode()).body == answer


@pytest.mark.clause("decision-10")
def test_an_identical_body_joins_the_call_that_is_waiting(acp: Acp, server_id: str, tmp_path: Path) -> None:
    record = tmp_path / "stdin"
    acp.call(server_id, "test/record", {"path": str(record)})
    body = message("test/hold", {"prompt": "x"}, 5)
    calls = [acp.open_post(server_id, body) for _ in range(6)]
    # The answer to a later request proves that the server has read all of them.
    acp.call(server_id, "test/echo")
    assert_problem(acp.post(server_id, body + b" "), 409, "conflict")
    acp.notify(server_id, "test/release")
    answers = [call.read_answer() for call in calls]
    for call in calls:
        call.close()
    assert {answer.status for answer in answers} == {200}
    assert len({answer.body for answer in answers}) == 1
    assert record.read_bytes().split(b"\n").count(body) == 1
    with acp.stream(server_id) as stream:
        acp.notify(server_id, "test/ask_client", {"id": "end"})
        events = stream.until(lambda event: b'"end"' in event.data)
    assert sum(b'"released"' in event.data and b'"id":5' in event.data for event in events) == 1


@pytest.mark.clause("decision-10")
def test_the_same_id_with_another_body_is_409_and_the_first_goes_on(acp: Acp, server_id: str) -> None:
    first = acp.in_background(acp.send, server_id, "test/hold", {"v": 1}, request_id=5)
    acp.wait_until_pending(server_id, 1)
    problem = assert_problem(
        acp.send(server_id, "test/hold", {"v": 2}, request_id=5), 409, "conflict", "Conflict"
    )
    assert problem["detail"].startswith("conflict: ")
    acp.notify(server_id, "test/release")
    assert first.result(8).status == 200


def test_an_answered_id_may_be_used_again(acp: Acp, server_id: str) -> None:
    for word in ("one", "two", "one"):
        assert acp.call(server_id, "test/echo", {"w": word}, request_id=1)["echo"] == {"w": word}


@pytest.mark.clause("decision-10")
def test_a_retry_after_a_broken_connection_gets_the_answer_and_prompts_once(
    acp: Acp, server_id: str, tmp_path: Path
) -> None:
    record = tmp_path / "stdin"
    acp.call(server_id, "test/record", {"path": str(record)})
    body = message("test/hold", {"prompt": "do it"}, 9)
    with acp.open_post(server_id, body):
        acp.wait_until_pending(server_id, 1)
    with acp.open_post(server_id, body) as retry:
        acp.call(server_id, "test/echo")
        acp.notify(server_id, "test/release")
        assert retry.read_answer().json()["result"] == {"released": True}
    assert record.read_bytes().split(b"\n").count(body) == 1


@pytest.mark.clause("decision-4", "decision-13", "promise-F")
def test_a_client_that_goes_away_cancels_nothing(acp: Acp, server_id: str) -> None:
    body = message("test/answer_after", {"ms": 200}, "gone")
    with acp.stream(server_id) as stream:
        with acp.open_post(server_id, body):
            acp.wait_until_pending(server_id, 1)
        stream.until(lambda event: b'"id":"gone"' in event.data and b'"late"' in event.data)


def test_two_hundred_mixed_requests_all_get_their_own_answer(acp: Acp, server_id: str) -> None:
    calls = [
        acp.in_background(acp.call, server_id, "test/echo", {"n": number}, request_id=f"{number}", timeout=20)
        for number in range(200)
    ]
    assert [call.result(20)["echo"]["n"] for call in calls] == list(range(200))


def test_a_request_of_the_agent_with_a_pending_id_is_not_the_answer(acp: Acp, server_id: str) -> None:
    script = b'{"id":6,"method":"client/ask"}\n{"id":6,"result":"the answer"}\n'
    acp.call(server_id, "test/reply_to_next_line", {"hex": script.hex()})
    with acp.stream(server_id) as stream:
        assert acp.post(server_id, b'{"id":6,"method":"x"}').body == b'{"id":6,"result":"the answer"}'
        stream.until(lambda event: event.data == b'{"id":6,"method":"client/ask"}')
