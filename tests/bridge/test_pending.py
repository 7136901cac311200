from __future__ import annotations

import pytest

from sandbox_agent.bridge.pending import Answer, Call, PendingCalls
from sandbox_agent.errors import Conflict, Timeout


def test_an_identical_body_joins_and_another_is_a_conflict() -> None:
    calls = PendingCalls()
    answers: list[Answer] = []
    calls[b"1"] = Call(b"1", b"body", answers.append, None)
    calls.join(b"1", b"body", answers.append)
    with pytest.raises(Conflict):
        calls.join(b"1", b"other", answers.append)
    call = calls.pop(b"1")
    call.settle(b"answer")
    assert answers == [b"answer", b"answer"]
    call.settle(b"again")
    assert len(answers) == 2


def test_settling_everything_leaves_nothing() -> None:
    calls = PendingCalls()
    answers: list[Answer] = []
    calls[b"1"] = Call(b"1", b"a", answers.append, None)
    calls[b"2"] = Call(b"2", b"b", None, None)
    error = Timeout()
    calls.settle_all(error)
    assert answers == [error]
    assert len(calls) == 0
