"""Steering: another message for the turn that runs, by an extension of ACP (`_session/steering`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import SandboxAgentError, SteeringError
from sandbox_agent.sdk.session.channel.instance_binding import InstanceBinding
from sandbox_agent.sdk.session.channel.outgoing_messages import OutgoingMessages
from sandbox_agent.sdk.universal import UniversalMapper

log = logging.getLogger("sandbox_agent")

# An extension that Claude and Codex share.
STEER_METHOD = "_session/steering"
# How long the rejection of a tool waits until the agent has its reason.
EXPLAIN_S = 5.0


class Steering:
    """Messages for the running turn of one session."""

    def __init__(self, binding: InstanceBinding, outgoing: OutgoingMessages, mapper: UniversalMapper) -> None:
        self._binding = binding
        self._outgoing = outgoing
        self._mapper = mapper

    def check(self) -> None:
        """Raise `SteeringError` if the agent cannot be steered."""
        instance = self._binding.instance
        if instance is None or not instance.can_steer:
            agent = self._binding.record.agent
            raise SteeringError("unsupported", f"{agent} cannot be steered; prompts queue up")

    async def send(self, blocks: list[dict[str, Any]]) -> None:
        """Give the running turn another message; raises `SteeringError` if it did not reach the turn."""
        outcome = await self._sent(blocks)
        if outcome == "promptRequired":
            raise SteeringError("no_turn", "the turn ended before the message reached it")
        if outcome != "injected":
            raise SteeringError("failed", f"the agent answered {outcome!r}")

    async def explain(self, reason: str) -> None:
        """Tell the agent why a tool was denied, if it can be steered: ACP has no field for it."""
        instance = self._binding.instance
        if instance is not None and instance.can_steer and self._mapper.open_turn_ids:
            text = f"The tool call is rejected: {reason}"
            try:
                async with asyncio.timeout(EXPLAIN_S):
                    await self._sent([{"type": "text", "text": text}])
            except (SandboxAgentError, TimeoutError) as error:
                log.debug("the agent was not told why a tool was denied: %s", error)

    async def _sent(self, blocks: list[dict[str, Any]]) -> Any:
        """Send the message; returns the agent's word on what became of it."""
        # Without `promptRequired` the agent would start a turn of its own after the end of this one.
        meta = {"steering": {"idleBehavior": "promptRequired"}}
        params = {"sessionId": self._binding.native_id, "prompt": blocks, "_meta": meta}
        result = await self._outgoing.request(STEER_METHOD, params)
        return result.get("outcome") if isinstance(result, Mapping) else None
