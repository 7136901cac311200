"""Sending the prompt of a turn, and waiting for what ends the turn.

A prompt that may have reached an agent is never sent again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from sandbox_agent.sdk.errors import (
    AgentExitedError,
    APIConnectionError,
    APITimeoutError,
    SandboxAgentError,
)
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.response_errors import rpc_error
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.session_lifecycle import SessionLifecycle
from sandbox_agent.sdk.session.turns.content_blocks import Block, text
from sandbox_agent.sdk.session.turns.prompt_request import PromptRequest
from sandbox_agent.sdk.session.turns.telemetry import prompt_span
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.session.turns.turn_limits import TurnLimits
from sandbox_agent.sdk.session.turns.turn_result import TurnResult
from sandbox_agent.sdk.universal import meta
from sandbox_agent.sdk.universal.mapping.acp_v2 import is_acceptance

log = logging.getLogger("sandbox_agent")

# How long a turn that was given up delays the next prompt.
LEFTOVER_TURN_S = 5.0


class PromptSender:
    """Runs the turns of one session, one at a time; `cancel` cancels the running one."""

    def __init__(
        self,
        lifecycle: SessionLifecycle,
        config: SessionConfig,
        cancel: Callable[[], Coroutine[Any, Any, None]],
    ) -> None:
        self._lifecycle = lifecycle
        self._channel = lifecycle.channel
        self._config = config
        self._cancel = cancel

    async def run(self, turn: AsyncTurn, request: PromptRequest) -> TurnResult:
        """Send the prompt and return the result of its turn."""
        channel = self._channel
        await self._lifecycle.ensure_live()
        await self._end_leftovers()
        await self._lifecycle.ensure_live()
        directory = self._lifecycle.settings.key.directory
        content = await request.content(AsyncFiles(channel.pool.api), directory)
        content = [*self._replay_block(), *content]
        if turn.cancel_wanted:
            turn.messages.sent.set()
            return turn.make_result({"stopReason": "cancelled"})
        channel.callback_error = None
        turn.cost_before = channel.mapper.usage.cost
        limits = self._limits(turn)
        limits.check_before()
        unwatch = channel.recorder.watch(turn.messages.take)
        stop_watching = channel.recorder.watch(limits.take) if limits.exist else None
        try:
            result = await self._send_traced(turn, content, request)
            self._lifecycle.transcript = None
            await channel.requests.cancel_all()
            await channel.hooks.idle()
        except SandboxAgentError:
            if turn.id in channel.mapper.open_turn_ids and channel.live:
                self._lifecycle.spawn(self._cancel(), "cancel after failure")
            raise
        finally:
            if stop_watching is not None:
                stop_watching()
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

    async def _send_traced(self, turn: AsyncTurn, content: list[Block], request: PromptRequest) -> TurnResult:
        with prompt_span(
            agent=self._channel.record.agent,
            session_id=self._channel.record.id,
            native_session_id=self._channel.native_id,
            model=self._config.current("model"),
        ) as span:
            params = meta.with_trace(meta.with_turn({"prompt": content}, turn.id), span.trace_context)
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
            message = f"session/prompt did not end within {request.timeout_s} s"
            raise APITimeoutError(message, delivery_unknown=True) from error
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
                return await self._channel.outgoing.request(
                    "session/prompt", full, timeout_s=request.timeout_s, respond_async=request.respond_async
                )
            except AgentExitedError as error:
                # Only a prompt that certainly never reached an agent is sent to the restored one.
                if last_try or not error.never_delivered:
                    raise
            await self._lifecycle.ensure_live()
            params = {**params, "prompt": [*self._replay_block(), *params["prompt"]]}
        raise AssertionError("unreachable")

    def _replay_block(self) -> list[Block]:
        transcript = self._lifecycle.transcript
        return [meta.as_replay(text(transcript))] if transcript else []

    async def _end_leftovers(self) -> None:
        """End prompts that failed here and may go on in the agent: their rest belongs to no later turn."""
        channel = self._channel
        if channel.binding.leftovers and await channel.binding.leftovers_go_on() and channel.live:
            try:
                await channel.outgoing.notify("session/cancel", {"sessionId": channel.native_id})
            except SandboxAgentError as error:
                log.debug("a turn that failed could not be cancelled: %s", error)
            await channel.binding.leftovers.ended(LEFTOVER_TURN_S)
