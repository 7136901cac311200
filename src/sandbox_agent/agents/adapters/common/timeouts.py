"""How long an adapter waits for a program that says nothing; SANDBOX_AGENT_ADAPTER_SILENCE_S sets it."""

from __future__ import annotations

import os

_TURN_S = 900.0
_ANSWER_S = 120.0
_CANCEL_S = 10.0


def turn_s() -> float:
    """Silence in a turn while nobody is asked anything."""
    return float(os.environ.get("SANDBOX_AGENT_ADAPTER_SILENCE_S") or _TURN_S)


def answer_s() -> float:
    """Until a program has started, or has answered a request; never longer than in a turn."""
    return min(_ANSWER_S, turn_s())


def cancel_s() -> float:
    """Until a cancelled turn is taken from a program that does not stop it."""
    return min(_CANCEL_S, turn_s())
