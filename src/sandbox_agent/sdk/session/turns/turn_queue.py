"""The turns of a session, one after the other, and how they are cancelled and steered.

Prompts queue up. The next one starts when the agent has finished the previous one, or 5 s after that turn
was given up.
"""

from __future__ import annotations

import asyncio
import logging
import uuid

from sandbox_agent.sdk.errors import ConcurrentPromptError, SandboxAgentError, SteeringError
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.session.turns.content_blocks import Prompt, prompt_blocks
from sandbox_agent.sdk.session.turns.prompt_request import PromptRequest
from sandbox_agent.sdk.session.turns.prompt_sender import LEFTOVER_TURN_S, PromptSender
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.session.turns.turn_result import TurnResult

log = logging.getLogger("sandbox_agent")

# How long a cancel waits for its prompt to reach the agent.
SENT_S = 2.0


class TurnQueue:
    """The turns of one session that run or wait."""

    def __init__(self, lifecycle: SessionLifecycle, config: SessionConfig) -> None:
        self.active: AsyncTurn | None = None
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel
        self._sender = PromptSender(lifecycle, config, self.cancel)
        self._lock = asyncio.Lock()
        self._entered: list[AsyncTurn] = []
        """The turns that were started and are not over, in their order."""

    def new(self, request: PromptRequest, *, queue: bool) -> AsyncTurn:
        """A turn that is not started yet; its start raises if another runs and `queue` is False."""

        async def work(turn: AsyncTurn) -> TurnResult:
            try:
                await self._lock.acquire()
            except BaseException:
                self._entered.remove(turn)
                raise
            self.active = turn
            try:
                return await self._sender.run(turn, request)
            finally:
                self.active = None
                self._lifecycle.spawn(self._release_after(turn), "end of turn")

        return AsyncTurn(self, f"turn_{uuid.uuid4().hex}", work, may_wait=queue)

    def enter(self, turn: AsyncTurn) -> None:
        """Put a turn into the queue as it starts; raises `ConcurrentPromptError` if it may not wait."""
        if self._entered and not turn.may_wait:
            raise ConcurrentPromptError(self._channel.record.id)
        self._entered.append(turn)

    def older_turn_open(self, turn_id: str) -> bool:
        """Whether the agent still works on a prompt before this turn's, which was given up."""
        if self._channel.binding.leftovers:
            return True
        return any(open_id != turn_id for open_id in self._channel.mapper.open_turn_ids)

    @property
    def _running(self) -> AsyncTurn | None:
        """The turn that runs, or the one that was started in this moment."""
        return self.active or (self._entered[0] if self._entered else None)

    async def cancel(self) -> None:
        """Cancel the running turn; its pending requests are answered as cancelled."""
        turn = self._running
        if turn is not None:
            turn.cancel_wanted = True
        if turn is not None and turn is self.active:
            await self._wait_sent(turn)
        await self._channel.cancel_turn()

    async def steer(self, prompt: Prompt) -> None:
        """Give the running turn another message; raises `SteeringError`."""
        blocks = prompt_blocks(prompt)
        turn = self._running
        if turn is None or self._channel.instance is None:
            raise SteeringError(
                "no_turn", f"session {self._channel.record.id!r} has no running turn to steer"
            )
        steering = self._channel.steering
        steering.check()
        await self._wait_sent(turn)
        await steering.send(blocks)

    async def cancel_turn(self, turn: AsyncTurn) -> None:
        """Cancel this turn, running or still queued."""
        if turn is self.active:
            await self.cancel()
        else:
            turn.give_up(None)

    def watch(self, change: int) -> None:
        """Count the readers of the events: one more or one less."""
        self._channel.watchers += change

    async def give_up(self, error: SandboxAgentError) -> None:
        """End the active turn locally, with `error`."""
        if self.active is not None:
            turn = self.active
            turn.give_up(error)
            await turn.settled()

    async def _wait_sent(self, turn: AsyncTurn) -> None:
        # A cancel that arrives before its prompt would have no effect.
        try:
            async with asyncio.timeout(SENT_S):
                await turn.messages.sent.wait()
        except TimeoutError:
            log.debug("turn %s is cancelled before it was accepted", turn.id)

    async def _release_after(self, turn: AsyncTurn) -> None:
        """Release the queue once the agent has finished this turn."""
        ended = asyncio.Event()
        unwatch = self._channel.recorder.watch(lambda _: ended.set())
        try:
            async with asyncio.timeout(LEFTOVER_TURN_S):
                while turn.id in self._channel.mapper.open_turn_ids and self._channel.live:
                    ended.clear()
                    await ended.wait()
        except TimeoutError:
            log.debug("turn %s never ended", turn.id)
        finally:
            unwatch()
            self._entered.remove(turn)
            self._lock.release()
