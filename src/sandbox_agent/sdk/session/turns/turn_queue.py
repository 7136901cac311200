"""The turns of a session, one after the other: how a prompt is sent, awaited and cancelled.

Prompts queue up. The next one starts when the agent has finished the previous one, or 5 s after that turn
was given up. A prompt that may have reached an agent is never sent again.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.errors import AgentExitedError, ConcurrentPromptError, SandboxAgentError
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.session.turns import content_blocks
from sandbox_agent.sdk.session.turns.content_blocks import AttachmentLike, Prompt
from sandbox_agent.sdk.session.turns.telemetry import prompt_span
from sandbox_agent.sdk.session.turns.turn import AsyncTurn, PromptResult
from sandbox_agent.sdk.universal import meta

log = logging.getLogger("sandbox_agent")

# How long a turn that was given up delays the next prompt.
LEFTOVER_TURN_S = 5.0
# How long a cancel waits for its prompt to reach the agent.
SENT_S = 2.0


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A prompt and how to send it."""

    prompt: Prompt
    attachments: Sequence[AttachmentLike] = ()
    timeout_s: float | None = None
    respond_async: bool = False


class TurnQueue:
    """Runs the turns of one session."""

    def __init__(self, lifecycle: SessionLifecycle, config: SessionConfig) -> None:
        self.active: AsyncTurn | None = None
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel
        self._config = config
        self._lock = asyncio.Lock()

    def new(self, request: PromptRequest, *, queue: bool) -> AsyncTurn:
        """A turn that is not started yet; raises if another runs and `queue` is False."""
        if not queue and self._lock.locked():
            raise ConcurrentPromptError(self._channel.record.id)

        async def work(turn: AsyncTurn) -> PromptResult:
            await self._lock.acquire()
            self.active = turn
            try:
                return await self._run(turn, request)
            finally:
                self.active = None
                self._lifecycle.spawn(self._release_after(turn.id), "end of turn")

        return AsyncTurn(self, f"turn_{uuid.uuid4().hex}", work)

    async def cancel(self) -> None:
        """Cancel the running turn; its pending requests are answered as cancelled."""
        turn = self.active
        if turn is not None:
            turn.cancel_wanted = True
            await self._wait_sent(turn)
        if self._channel.live:
            await self._channel.notify("session/cancel", {"sessionId": self._channel.native_id})
            await self._channel.requests.cancel_all()

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

    async def _run(self, turn: AsyncTurn, request: PromptRequest) -> PromptResult:
        channel = self._channel
        await self._lifecycle.ensure_live()
        content = await self._content(request)
        if turn.cancel_wanted:
            turn.sent.set()
            return turn.make_result({"stopReason": "cancelled"})
        channel.callback_error = None
        unwatch = channel.recorder.watch(turn.take)
        try:
            result = await self._send_traced(turn, content, request)
            self._lifecycle.transcript = None
            await channel.requests.cancel_all()
        except SandboxAgentError:
            if turn.id in channel.mapper.open_turn_ids and channel.live:
                self._lifecycle.spawn(self.cancel(), "cancel after failure")
            raise
        finally:
            unwatch()
            await channel.flush()
        if channel.callback_error is not None:
            raise channel.callback_error
        return result

    async def _send_traced(
        self, turn: AsyncTurn, content: list[content_blocks.Block], request: PromptRequest
    ) -> PromptResult:
        with prompt_span(
            agent=self._channel.record.agent,
            session_id=self._channel.record.id,
            native_session_id=self._channel.native_id,
            model=self._config.current("model"),
        ) as span:
            params = meta.with_turn({"prompt": content}, turn.id)
            if span.trace_context:
                params["_meta"] = {**span.trace_context, **params["_meta"]}
            result = turn.make_result(await self._send(params, request))
            span.finished(result.stop_reason, result.usage.raw if result.usage else None)
        return result

    async def _send(self, params: dict[str, Any], request: PromptRequest) -> Any:
        for last_try in (False, True):
            full = {"sessionId": self._channel.native_id, **params}
            try:
                return await self._channel.request(
                    "session/prompt", full, timeout_s=request.timeout_s, respond_async=request.respond_async
                )
            except AgentExitedError as error:
                # Only a prompt that certainly never reached an agent is sent to the restored one.
                if last_try or not error.never_delivered:
                    raise
            await self._lifecycle.ensure_live()
            params = {**params, "prompt": [*self._replay_block(), *params["prompt"]]}
        raise AssertionError("unreachable")

    async def _content(self, request: PromptRequest) -> list[content_blocks.Block]:
        content = content_blocks.prompt_blocks(request.prompt)
        for value in request.attachments:
            one = content_blocks.as_attachment(value, self._lifecycle.settings.key.directory)
            data = await AsyncFiles(self._channel.pool.api).read(one.path) if one.embed else None
            content.append(content_blocks.attachment_block(one, data))
        return [*self._replay_block(), *content]

    def _replay_block(self) -> list[content_blocks.Block]:
        transcript = self._lifecycle.transcript
        return [meta.as_replay(content_blocks.text(transcript))] if transcript else []

    async def _wait_sent(self, turn: AsyncTurn) -> None:
        # A cancel that arrives before its prompt would have no effect.
        try:
            async with asyncio.timeout(SENT_S):
                await turn.sent.wait()
        except TimeoutError:
            log.debug("turn %s is cancelled before it was accepted", turn.id)

    async def _release_after(self, turn_id: str) -> None:
        """Release the queue once the agent has finished this turn."""
        ended = asyncio.Event()
        unwatch = self._channel.recorder.watch(lambda _: ended.set())
        try:
            async with asyncio.timeout(LEFTOVER_TURN_S):
                while turn_id in self._channel.mapper.open_turn_ids and self._channel.live:
                    ended.clear()
                    await ended.wait()
        except TimeoutError:
            log.debug("turn %s never ended", turn_id)
        finally:
            unwatch()
            self._lock.release()
