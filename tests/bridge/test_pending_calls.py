from __future__ import annotations

import pytest

from sandbox_agent.bridge.pending_calls import Answer, PendingCall
from sandbox_agent.errors import Conflict


def test_an_identical_body_joins_and_another_is_a_conflict() -> None:
    answers: list[Answer] = []
    call = PendingCall(b"1", b"body", answers.append, None)
    call.join(b"body", answers.append)
    call.join(b"body", None)
    with pytest.raises(Conflict):
        call.join(b"other", answers.append)
    call.settle(b"answer")
    assert answers == [b"answer", b"answer"]
    call.settle(b"again")
    assert len(answers) == 2


def test_a_call_is_the_message_on_its_way() -> None:
    call = PendingCall(b"1", b"body", None, None)
    assert (call.data, call.size, call.sent, call.written) == (b"body", 5, 0, False)
    call.sent = 5
    assert call.written
