"""Prompts that have failed in this client but may still run in the agent.

The caller has got an error, and the turn has ended in the history. The agent may still send updates of the
prompt until it answers; the answer itself is dropped.
"""

from __future__ import annotations

import asyncio

from sandbox_agent.sdk.small_event import SmallEvent


class LeftoverPrompts:
    """The request ids of such prompts."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._none = SmallEvent()
        self._none.set()

    def __bool__(self) -> bool:
        return bool(self._ids)

    def add(self, call_id: str) -> None:
        """The prompt failed here without an answer."""
        self._ids.add(call_id)
        self._none.clear()

    def answered(self, call_id: str) -> bool:
        """Whether this answer is that of a leftover prompt, which is over now."""
        if call_id not in self._ids:
            return False
        self._ids.discard(call_id)
        if not self._ids:
            self._none.set()
        return True

    def clear(self) -> None:
        """No answer can come any more."""
        self._ids.clear()
        self._none.set()

    async def ended(self, limit_s: float) -> bool:
        """Wait until all of them are over; returns whether they are."""
        try:
            await asyncio.wait_for(self._none.wait(), limit_s)
        except TimeoutError:
            return False
        return True
