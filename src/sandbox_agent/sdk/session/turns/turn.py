"""One turn: a prompt, everything the agent does about it, and the result.

A turn runs by itself once it is started; readers may start late, read twice, or stop. Leaving the
`async with` block of an unfinished turn cancels it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, Protocol

from sandbox_agent.sdk.errors import APITimeoutError, SandboxAgentError
from sandbox_agent.sdk.jsonrpc import Envelope
from sandbox_agent.sdk.session.history.recorder import RecordedMessage
from sandbox_agent.sdk.universal import ItemCompleted, UniversalEvent, UniversalItem

log = logging.getLogger("sandbox_agent")

# How long leaving an unfinished turn waits for the agent to stop.
CANCEL_TIMEOUT_S = 15.0


@dataclass(frozen=True, slots=True)
class Usage:
    """The token usage the agent reported; `raw` has all of it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    raw: dict[str, Any] = field(default_factory=dict, repr=False)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Usage:
        return cls(data.get("inputTokens"), data.get("outputTokens"), data.get("totalTokens"), dict(data))


@dataclass(frozen=True, slots=True)
class PromptResult:
    """The result of a turn."""

    stop_reason: str
    """`end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`."""
    text: str
    """The text of the agent's messages in this turn."""
    usage: Usage | None
    turn_id: str
    items: list[UniversalItem] = field(repr=False)
    """The completed messages, tool calls and results."""
    events: list[UniversalEvent] = field(repr=False)
    raw: dict[str, Any] = field(repr=False)
    """The agent's answer to `session/prompt`."""


class TurnOwner(Protocol):
    """What a turn needs of its session."""

    def watch(self, change: int) -> None:
        """Count the readers: one more or one less."""
        ...

    async def cancel_turn(self, turn: AsyncTurn) -> None:
        """Cancel this turn."""
        ...


TurnWork = Callable[["AsyncTurn"], Coroutine[Any, Any, PromptResult]]


class AsyncTurn:
    """A turn of an `AsyncSession`; made by `session.stream()`."""

    def __init__(self, owner: TurnOwner, turn_id: str, work: TurnWork) -> None:
        self._id = turn_id
        self._owner = owner
        self._work = work
        self._events: list[UniversalEvent] = []
        self._raw: list[Envelope] = []
        self._deltas: list[str] = []
        self._usage: dict[str, Any] | None = None
        self._changed = asyncio.Event()
        self._task: asyncio.Task[PromptResult] | None = None
        self._watching = False
        self._given_up: SandboxAgentError | None = None
        self.cancel_wanted = False
        self.sent = asyncio.Event()
        """Set once the agent has the prompt."""

    # -- for the turn queue -----------------------------------------------------------------------------

    def start(self) -> None:
        """Send the prompt, unless it was sent."""
        if self._task is None:
            self._task = asyncio.create_task(self._work(self), name=f"turn {self.id}")
            self._task.add_done_callback(self._finished)

    def take(self, entry: RecordedMessage) -> None:
        """Take in a message of this turn."""
        self.sent.set()
        self._raw.append(entry.envelope)
        self._events.extend(entry.events)
        update = _update_of(entry)
        if update.get("sessionUpdate") == "agent_message_chunk":
            content = update.get("content")
            if isinstance(content, dict) and isinstance(text := content.get("text"), str):
                self._deltas.append(text)
        elif update.get("sessionUpdate") == "usage_update":
            self._usage = {key: value for key, value in update.items() if key != "sessionUpdate"}
        self._tell()

    def make_result(self, answer: Any) -> PromptResult:
        """The result, from the agent's answer and the events before it."""
        raw = answer if isinstance(answer, dict) else {}
        usage = raw.get("usage") if isinstance(raw.get("usage"), dict) else self._usage
        return PromptResult(
            stop_reason=str(raw.get("stopReason") or "end_turn"),
            text=self.text,
            usage=Usage.from_json(usage) if usage else None,
            turn_id=self.id,
            items=[event.data.item for event in self._events if isinstance(event, ItemCompleted)],
            events=list(self._events),
            raw=raw,
        )

    def give_up(self, error: SandboxAgentError | None) -> None:
        """End the turn locally; without an error it was never sent and counts as cancelled."""
        if self._task is not None and not self._task.done():
            self._given_up = error
            self._task.cancel()

    async def settled(self) -> None:
        """Wait until the turn's task has ended."""
        if self._task is not None and self._task is not asyncio.current_task():
            await asyncio.wait([self._task])

    # -- for readers --------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        """The turn id, as in the events."""
        return self._id

    @property
    def text(self) -> str:
        """The text of the agent's messages so far."""
        return "".join(self._deltas)

    @property
    def done(self) -> bool:
        """Whether the turn has ended, successfully or not."""
        return self._task is not None and self._task.done()

    async def result(self) -> PromptResult:
        """Wait for the end; raises if the turn failed. Cancelling this wait does not cancel the turn."""
        if self._task is None:
            raise RuntimeError("the turn has not been started; use `async with session.stream(...)`")
        await asyncio.wait([self._task])
        if not self._task.cancelled():
            return self._task.result()
        if self._given_up is not None:
            raise self._given_up
        return self.make_result({"stopReason": "cancelled"})

    async def cancel(self) -> None:
        """Ask the agent to stop; the turn ends with stop reason `cancelled`."""
        if not self.done:
            self.cancel_wanted = True
            await self._owner.cancel_turn(self)

    def __aiter__(self) -> AsyncIterator[UniversalEvent]:
        """All universal events of the turn; raises at the end if the turn failed."""
        return self._follow(self._events)

    @property
    def text_deltas(self) -> AsyncIterator[str]:
        """The agent's text as it arrives."""
        return self._follow(self._deltas)

    @property
    def raw_events(self) -> AsyncIterator[Envelope]:
        """The ACP messages of the turn, in both directions."""
        return self._follow(self._raw)

    async def __aenter__(self) -> AsyncTurn:
        self._watch(True)
        self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        try:
            if not self.done:
                await self.stop()
        finally:
            self._watch(False)

    async def stop(self, timeout_s: float = CANCEL_TIMEOUT_S) -> None:
        """Cancel, and wait up to `timeout_s` seconds for the agent to stop."""
        try:
            await self.cancel()
        except SandboxAgentError as error:
            log.debug("turn %s could not be cancelled: %s", self.id, error)
        if self._task is None:
            return
        await asyncio.wait([self._task], timeout=timeout_s)
        if not self._task.done():
            self.give_up(APITimeoutError(f"the agent did not stop within {timeout_s:g} s of being cancelled"))
            await asyncio.wait([self._task])

    def _watch(self, on: bool) -> None:
        if on != self._watching:
            self._watching = on
            self._owner.watch(1 if on else -1)

    async def _follow(self, items: list[Any]) -> AsyncIterator[Any]:
        position = 0
        while True:
            changed = self._changed
            while position < len(items):
                yield items[position]
                position += 1
            if self.done:
                break
            if changed is self._changed:
                await changed.wait()
        await self.result()

    def _tell(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def _finished(self, task: asyncio.Task[PromptResult]) -> None:
        if not task.cancelled():
            task.exception()
        self._tell()


def _update_of(entry: RecordedMessage) -> dict[str, Any]:
    if entry.sender != "agent" or entry.envelope.get("method") != "session/update":
        return {}
    update = (entry.envelope.get("params") or {}).get("update")
    return update if isinstance(update, dict) else {}
