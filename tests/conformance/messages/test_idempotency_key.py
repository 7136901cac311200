"""`Idempotency-Key`: a message that is repeated with the same key reaches the agent once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.acp import Acp, message
from tests.support.problems import assert_problem

pytestmark = pytest.mark.ours


def post(acp: Acp, server_id: str, body: bytes, key: str, **headers: str) -> Any:
    return acp.post(server_id, body, headers={"idempotency-key": key, **headers})


@pytest.mark.clause("idempotency-key")
def test_a_repetition_is_accepted_and_not_forwarded(acp: Acp, server_id: str, tmp_path: Path) -> None:
    record = tmp_path / "stdin"
    acp.call(server_id, "test/record", {"path": str(record)})
    request, notification, answer = (
        message("test/echo", {}, 7),
        message("test/echo", {}),
        b'{"jsonrpc":"2.0","id":"q","result":1}',
    )
    assert post(acp, server_id, request, "a-1").status == 200
    assert [post(acp, server_id, request, "a-1").status for _ in range(2)] == [202, 202]
    for key, body in (("a-2", notification), ("a-3", answer)):
        assert [post(acp, server_id, body, key).status for _ in range(3)] == [202] * 3
    assert post(acp, server_id, request, "a-4", prefer="respond-async").status == 202
    acp.call(server_id, "test/echo", {"last": True})
    assert record.read_bytes().splitlines()[:-1] == [request, notification, answer, request]


@pytest.mark.clause("idempotency-key")
def test_a_message_that_was_refused_may_be_repeated(acp: Acp, server_id: str) -> None:
    waiting = acp.in_background(acp.post, server_id, message("test/answer_after", {"ms": 300}, 5))
    acp.call(server_id, "test/echo")
    body = message("test/echo", {}, 5)
    assert_problem(post(acp, server_id, body, "k"), 409, "conflict")
    assert waiting.result(10).status == 200
    assert post(acp, server_id, body, "k").status == 200


@pytest.mark.clause("idempotency-key")
def test_keys_belong_to_the_instance(acp: Acp, server_id: str) -> None:
    other = acp.start()
    body = message("test/echo", {}, 1)
    assert post(acp, server_id, body, "k").status == 200
    assert post(acp, other, body, "k").status == 200
    acp.delete(server_id)
    assert acp.post(server_id, body, agent="amp", headers={"idempotency-key": "k"}).status == 200


@pytest.mark.clause("idempotency-key")
def test_the_last_256_keys_are_remembered(acp: Acp, server_id: str) -> None:
    body = message("test/echo", {}, 1)
    assert post(acp, server_id, body, "first").status == 200
    for number in range(255):
        assert post(acp, server_id, message("test/echo"), f"n-{number}").status == 202
    assert post(acp, server_id, body, "first").status == 202
    assert post(acp, server_id, message("test/echo"), "one more").status == 202
    assert post(acp, server_id, body, "first").status == 200
    assert_problem(post(acp, server_id, body, "x" * 129), 400, "invalid_request")
