"""`max_cost` and `max_turns`: a turn that exceeds them is cancelled.

Agents report their cost during a turn, and no agent reports the requests to its model. Those are counted from
what is visible: the first output, and the first output after results of tools, begin an answer of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.errors import LimitExceededError, SandboxAgentError, UnsupportedSessionOptionError
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.universal import Usage

_OUTPUT = ("agent_message_chunk", "agent_thought_chunk", "agent_message", "agent_thought", "tool_call")


class TurnLimits:
    """Watches one turn; `exceed` is called once, when a limit is exceeded."""

    def __init__(
        self,
        max_cost: float | None,
        max_turns: int | None,
        usage: Callable[[], Usage],
        exceed: Callable[[], None],
    ) -> None:
        self._max_cost = max_cost
        self._max_turns = max_turns
        self._usage = usage
        self._exceed = exceed
        self._answers = 0
        self._answer_begins = True
        self.error: LimitExceededError | None = None

    @property
    def exist(self) -> bool:
        return self._max_cost is not None or self._max_turns is not None

    def check_before(self) -> None:
        """Raise if the session has already cost too much."""
        if (cost := self._too_expensive()) is not None and self._max_cost is not None:
            raise LimitExceededError("max_cost", self._max_cost, cost)

    def take(self, entry: RecordedMessage) -> None:
        """Take in a message of the turn."""
        if self.error is not None or entry.sender != "agent":
            return
        update = (entry.envelope.get("params") or {}).get("update")
        if isinstance(update, dict):
            self._count(update)
        cost = self._too_expensive()
        if cost is not None and self._max_cost is not None:
            self._end(LimitExceededError("max_cost", self._max_cost, cost))
        elif self._max_turns is not None and self._answers > self._max_turns:
            self._end(LimitExceededError("max_turns", self._max_turns, self._answers))

    def failure(self, agent: str) -> SandboxAgentError | None:
        """The error of a turn that has ended; also if its cost is limited and the agent reports none."""
        if self.error is None and self._max_cost is not None and self._usage().cost is None:
            return UnsupportedSessionOptionError("max_cost", agent, "it reports no cost")
        return self.error

    def _count(self, update: dict[str, Any]) -> None:
        kind = update.get("sessionUpdate")
        if kind in _OUTPUT and self._answer_begins:
            self._answers += 1
            self._answer_begins = False
        if kind in ("tool_call", "tool_call_update") and update.get("status") in ("completed", "failed"):
            self._answer_begins = True

    def _too_expensive(self) -> float | None:
        cost = self._usage().cost if self._max_cost is not None else None
        if cost is None or self._max_cost is None or cost.amount < self._max_cost:
            return None
        return cost.amount

    def _end(self, error: LimitExceededError) -> None:
        self.error = error
        self._exceed()
