"""How long an adapter waits for a silent program; SANDBOX_AGENT_ADAPTER_SILENCE_S sets the limit."""

from __future__ import annotations

import os

_TURN_S = 900.0
_ANSWER_S = 120.0
_CANCEL_S = 10.0


def turn_s() -> float:
    """Silence during a turn while no request to the user is open."""
    return float(os.environ.get("SANDBOX_AGENT_ADAPTER_SILENCE_S") or _TURN_S)


def answer_s() -> float:
    """Until a program has started or answered a request; never longer than `turn_s`."""
    return min(_ANSWER_S, turn_s())


def cancel_s() -> float:
    """Until a cancelled turn is ended although the program has not stopped it."""
    return min(_CANCEL_S, turn_s())
