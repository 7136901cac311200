"""Which sessions of an ACP v2 agent are busy."""

from __future__ import annotations

import json

import pytest

from sandbox_agent.bridge.v2_turns import V2Turns


def prompt(session: str = "s") -> bytes:
    return json.dumps({"id": 1, "method": "session/prompt", "params": {"sessionId": session}}).encode()


def state(name: str, session: str = "s") -> bytes:
    update = {"sessionUpdate": "state_update", "state": name}
    return json.dumps(
        {"method": "session/update", "params": {"sessionId": session, "update": update}}
    ).encode()


ACCEPTED = b'{"id":1,"result":{"messageId":"m"}}'


@pytest.mark.clause("acp-v2-busy")
def test_a_session_is_busy_from_the_acceptance_on_without_any_state() -> None:
    turns = V2Turns()
    turns.asked(b"1", prompt())
    turns.answered(b"1", ACCEPTED)
    assert turns.busy == {"s"}
    turns.written(b"\n".join((state("running"), state("requires_action"), state("_own"))) + b"\n")
    assert turns.busy == {"s"}
    turns.written(state("idle", "other") + b"\n" + state("idle") + b"\n")
    assert not turns.busy


@pytest.mark.clause("acp-v2-busy")
def test_a_turn_that_ends_in_the_block_of_its_acceptance_is_over() -> None:
    turns = V2Turns()
    turns.asked(b"1", prompt())
    # The instance sees the answer after the block that it is part of.
    turns.written(ACCEPTED + b"\n" + state("running") + b"\n" + state("idle") + b"\n")
    turns.answered(b"1", ACCEPTED)
    assert not turns.busy


@pytest.mark.clause("acp-v2-busy")
@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b'"state_update"', b'{"params":{"update":"state_update"}}']
)
def test_other_texts_change_nothing(line: bytes) -> None:
    turns = V2Turns()
    turns.asked(b"1", b'{"method":"x","params":{"text":"\\"session/prompt\\""}}')
    turns.answered(b"1", ACCEPTED)
    turns.written(line + b"\n")
    turns.asked(b"2", prompt())
    turns.answered(b"2", b'{"id":2,"error":{"code":1}}')
    assert not turns.busy


@pytest.mark.clause("security-L7")
def test_a_line_too_long_for_a_state_is_not_read() -> None:
    """Reading 16 MB of numbers would hold the event loop."""
    turns = V2Turns()
    padded = state("running")[:-1] + b',"x":[%b1]}' % (b"1," * (1 << 20))
    turns.written(padded + b"\n" + state("running", "other") + b"\n")
    assert turns.busy == {"other"}
