"""The turns of a session, one after the other: how a prompt is sent, awaited and cancelled.

Prompts queue up. The next one starts when the agent has finished the previous one, or 5 s after that turn
was given up. A prompt that may have reached an agent is never sent again.
"""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.errors import (
    AgentExitedError,
    APIConnectionError,
    APITimeoutError,
    ConcurrentPromptError,
    SandboxAgentError,
    SteeringError,
)
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.response_errors import rpc_error
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.session.turns import content_blocks
from sandbox_agent.sdk.session.turns.content_blocks import AttachmentLike, Prompt
from sandbox_agent.sdk.session.turns.telemetry import prompt_span
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.session.turns.turn_limits import TurnLimits
from sandbox_agent.sdk.session.turns.turn_result import TurnResult
from sandbox_agent.sdk.universal import meta
from sandbox_agent.sdk.universal.mapping.acp_v2 import is_acceptance

log = logging.getLogger("sandbox_agent")

# How long a turn that was given up delays the next prompt.
LEFTOVER_TURN_S = 5.0
# How long a cancel waits for its prompt to reach the agent.
SENT_S = 2.0


@dataclass(frozen=True, slots=True)
class PromptRequest:
    """A prompt and how to send it."""

    blocks: list[content_blocks.Block]
    attachments: Sequence[AttachmentLike] = ()
    timeout_s: float | None = None
    respond_async: bool = False


def prompt_request(
    prompt: Prompt, attachments: Sequence[AttachmentLike], timeout_s: float | None, respond_async: bool
) -> PromptRequest:
    """A prompt whose form was checked; raises `TypeError` before anything is sent."""
    blocks = content_blocks.prompt_blocks(prompt)
    if isinstance(attachments, str):
        raise TypeError(f"attachments is a list of files, not the text {attachments!r}")
    return PromptRequest(blocks, attachments, timeout_s, respond_async)


class TurnQueue:
    """Runs the turns of one session."""

    def __init__(self, lifecycle: SessionLifecycle, config: SessionConfig) -> None:
        self.active: AsyncTurn | None = None
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel
        self._config = config
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
                return await self._run(turn, request)
            finally:
                self.active = None
                self._lifecycle.spawn(self._release_after(turn), "end of turn")

        return AsyncTurn(self, f"turn_{uuid.uuid4().hex}", work, may_wait=queue)

    def enter(self, turn: AsyncTurn) -> None:
        """Put a turn into the queue as it starts; raises `ConcurrentPromptError` if it may not wait."""
        if self._entered and not turn.may_wait:
            raise ConcurrentPromptError(self._channel.record.id)
        self._entered.append(turn)

    def older_turn_open(self, turn: AsyncTurn) -> bool:
        """Whether the agent still works on a prompt before this one, which was given up."""
        if self._channel.leftovers:
            return True
        return any(open_id != turn.id for open_id in self._channel.mapper.open_turn_ids)

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
        if self._channel.live:
            await self._channel.notify("session/cancel", {"sessionId": self._channel.native_id})
            await self._channel.requests.cancel_all()

    async def steer(self, prompt: Prompt) -> None:
        """Give the running turn another message; raises `SteeringError`."""
        blocks = content_blocks.prompt_blocks(prompt)
        channel, turn = self._channel, self._running
        if turn is None or channel.instance is None:
            raise SteeringError("no_turn", f"session {channel.record.id!r} has no running turn to steer")
        if not channel.instance.can_steer:
            raise SteeringError("unsupported", f"{channel.record.agent} cannot be steered; prompts queue up")
        await self._wait_sent(turn)
        outcome = await channel.steer(blocks)
        if outcome == "promptRequired":
            raise SteeringError("no_turn", "the turn ended before the message reached it")
        if outcome != "injected":
            raise SteeringError("failed", f"the agent answered {outcome!r}")

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

    async def _run(self, turn: AsyncTurn, request: PromptRequest) -> TurnResult:
        channel = self._channel
        await self._lifecycle.ensure_live()
        await self._end_leftovers()
        await self._lifecycle.ensure_live()
        content = await self._content(request)
        if turn.cancel_wanted:
            turn.sent.set()
            return turn.make_result({"stopReason": "cancelled"})
        channel.callback_error = None
        turn.cost_before = channel.mapper.usage.cost
        limits = self._limits(turn)
        limits.check_before()
        unwatch = channel.recorder.watch(turn.take)
        unlimit = channel.recorder.watch(limits.take) if limits.exist else None
        try:
            result = await self._send_traced(turn, content, request)
            self._lifecycle.transcript = None
            await channel.requests.cancel_all()
            await channel.hooks.idle()
        except SandboxAgentError:
            if turn.id in channel.mapper.open_turn_ids and channel.live:
                self._lifecycle.spawn(self.cancel(), "cancel after failure")
            raise
        finally:
            if unlimit is not None:
                unlimit()
            unwatch()
            await channel.settle()
        failure = channel.callback_error or limits.failure(channel.record.agent)
        if failure is not None:
            raise failure
        return result

    def _limits(self, turn: AsyncTurn) -> TurnLimits:
        settings, mapper = self._lifecycle.settings, self._channel.mapper

        def cancel() -> None:
            self._lifecycle.spawn(turn.stop(), "end turn at a limit")

        return TurnLimits(settings.max_cost, settings.max_turns, lambda: mapper.usage, cancel)

    async def _send_traced(
        self, turn: AsyncTurn, content: list[content_blocks.Block], request: PromptRequest
    ) -> TurnResult:
        with prompt_span(
            agent=self._channel.record.agent,
            session_id=self._channel.record.id,
            native_session_id=self._channel.native_id,
            model=self._config.current("model"),
        ) as span:
            params = meta.with_turn({"prompt": content}, turn.id)
            if span.trace_context:
                params["_meta"] = {**span.trace_context, **params["_meta"]}
            answer = await self._send(params, request)
            if is_acceptance(answer):
                answer = {**answer, **await self._until_idle(turn, request)}
            result = turn.make_result(answer)
            span.finished(result.stop_reason, result.usage.raw if result.usage else None)
        return result

    async def _until_idle(self, turn: AsyncTurn, request: PromptRequest) -> dict[str, Any]:
        """Wait for the end of a turn that the agent has accepted (ACP v2)."""
        mapper = self._channel.mapper
        try:
            async with asyncio.timeout(request.timeout_s):
                state = await turn.until_idle(lambda: turn.id in mapper.open_turn_ids)
        except TimeoutError as error:
            text = f"session/prompt did not end within {request.timeout_s} s"
            raise APITimeoutError(text, delivery_unknown=True) from error
        if state is None:
            instance = self._channel.instance
            lost = instance.lost if instance is not None else None
            raise lost or APIConnectionError("the turn ended without a state of the agent")
        if state.get("stopReason") == "error":
            raise rpc_error(state.get("error") or {}, method="session/prompt")
        return state

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
        content = list(request.blocks)
        files = AsyncFiles(self._channel.pool.api)
        for value in request.attachments:
            if isinstance(value, Mapping):
                content += content_blocks.prompt_blocks([value])
                continue
            one = content_blocks.as_attachment(value, self._lifecycle.settings.key.directory)
            # A file that does not exist is an error here; the agent would only see a dead link.
            data = await files.read(one.path) if one.embed else None
            if data is None:
                await files.stat(one.path)
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

    async def _end_leftovers(self) -> None:
        """End prompts that failed here and may go on in the agent: their rest belongs to no later turn."""
        channel = self._channel
        if channel.leftovers and await channel.leftovers_go_on() and channel.live:
            try:
                await channel.notify("session/cancel", {"sessionId": channel.native_id})
            except SandboxAgentError as error:
                log.debug("a turn that failed could not be cancelled: %s", error)
            await channel.leftovers.ended(LEFTOVER_TURN_S)

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
