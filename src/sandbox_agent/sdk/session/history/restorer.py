"""Restoring a session by the best way available.

In order: reattach to the agent that still runs, `session/resume`, `session/load`, and as the last resort a
new session that gets the history as text. `Restored` says which way it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from sandbox_agent.login_methods import key_login
from sandbox_agent.sdk.errors import AuthRequiredError, RpcError, SandboxAgentError, SessionNotRestoredError
from sandbox_agent.sdk.session.channel.session_channel import SessionChannel
from sandbox_agent.sdk.session.config.agent_options import kept_parameters
from sandbox_agent.sdk.session.config.session_config import SessionConfig
from sandbox_agent.sdk.session.history.checkpoints import map_on, mapped_up_to
from sandbox_agent.sdk.session.history.replay_text import render_transcript
from sandbox_agent.sdk.session.instances.agent_instance import AgentInstance
from sandbox_agent.sdk.session.instances.instance_pool import InstanceKey
from sandbox_agent.sdk.universal import ItemCompleted, UniversalItem, notes

RestorePolicy = Literal["auto", "reattach", "native", "replay", "never"]
RestoreMethod = Literal["created", "reattached", "resumed", "loaded", "replayed"]

# Agents that send the whole history again after they have restored the session, against ACP: after
# `session/resume`, or after the answer to `session/load` (Gemini). It is stored already.
REPEATING_AGENTS = ("hermes", "fast-agent", "gemini", "nanocoder")
# The repeat is over when nothing of it came for this long; a long one is waited for up to 30 s.
REPEAT_PAUSE_S = 0.3
REPEAT_PAUSES = 100
# How far back the items of a transcript are looked for at first, in events per item.
EVENTS_PER_ITEM = 60


@dataclass(frozen=True, slots=True)
class Restored:
    """How a session was connected to its present agent process."""

    method: RestoreMethod
    tried: Mapping[str, str] = field(default_factory=dict)
    """The better ways that failed, and why."""
    not_applied: Mapping[str, str] = field(default_factory=dict)
    """What was requested and is not in force, and why: options that the agent refused, skills."""
    transcript: str | None = None
    """For `replayed`: the history as text, sent with the next prompt."""

    @property
    def history_carried(self) -> bool:
        """Whether the agent itself still has the whole conversation."""
        return self.method in ("created", "reattached", "resumed", "loaded")


class Restorer:
    """Restores one session."""

    def __init__(
        self, channel: SessionChannel, key: InstanceKey, *, replay_max_events: int, replay_max_chars: int
    ) -> None:
        self._channel = channel
        self._key = key
        self._max_events = replay_max_events
        self._max_chars = replay_max_chars
        self._config = SessionConfig(channel)
        self._tried: dict[str, str] = {}

    async def restore(self, policy: RestorePolicy) -> Restored:
        """Connect the session to an agent; raises `SessionNotRestoredError` if no way worked."""
        if policy in ("auto", "reattach") and self._channel.instance is None and await self._reattach():
            return Restored("reattached", self._tried)
        if policy in ("auto", "native", "replay"):
            await self._channel.binding.leave(restoring=True)
            self._record_old_end()
            wanted, mode = self._config.options, self._config.current_mode
            instance = await self._channel.pool.acquire(self._key)
            self._channel.binding.enter(instance)
            method, transcript, refused = await self._restore_in(policy, instance)
            if method is not None:
                refused |= await self._config.apply_again(wanted, mode)
                return Restored(method, dict(self._tried), refused, transcript)
            await self._channel.binding.leave()
        raise SessionNotRestoredError(self._channel.record.id, self._tried)

    async def _restore_in(
        self, policy: RestorePolicy, instance: AgentInstance
    ) -> tuple[RestoreMethod | None, str | None, dict[str, str]]:
        try:
            refused = await self._channel.skills.provide(instance)
            await self._channel.tools.provide(instance.server_id)
            if policy in ("auto", "native"):
                if await self._native("session/resume", "sessionCapabilities", "resume"):
                    return "resumed", None, refused
                if await self._native("session/load", "loadSession"):
                    return "loaded", None, refused
            if policy in ("auto", "replay"):
                return "replayed", await self._replay(), refused
        except BaseException:
            await self._channel.binding.leave()
            raise
        return None, None, refused

    async def _reattach(self) -> bool:
        channel = self._channel
        try:
            instance = await channel.pool.adopt(channel.record)
        except SandboxAgentError as error:
            self._tried["reattach"] = str(error)
            return False
        if instance is None:
            self._tried["reattach"] = "the agent process of the session no longer runs"
            return False
        channel.binding.enter(instance)
        await channel.tools.provide(instance.server_id)
        await self._catch_up(instance)
        channel.requests.ask_again()
        return True

    async def _catch_up(self, instance: AgentInstance) -> None:
        """Read the events missed since the last stored one, then continue with the live stream."""
        channel, reader = self._channel, instance.connection.reader
        for call_id in channel.binding.open_calls:
            instance.own(call_id, channel)
        seen = channel.record.last_event_id or 0
        channel.incoming.holding = True
        upto = reader.last_event_id
        instance.bind(channel.native_id, channel)
        missed = await reader.history(seen, upto) if upto > seen else []
        channel.incoming.holding = False
        for event_id, envelope in missed:
            instance.replayed(channel, envelope, event_id)
        channel.incoming.deliver_held()
        reader.start()
        facts = await instance.connection.status.facts()
        if facts is not None and isinstance(newest := facts.get("lastEventId"), int):
            await instance.connection.status.caught_up(newest)

    def _record_old_end(self) -> None:
        if not self._channel.mapper.ended:
            self._channel.note(
                notes.session_ended("error", "daemon", message="the agent process of the session is gone")
            )

    async def _native(self, method: str, *capability: str) -> bool:
        channel = self._channel
        instance = channel.instance
        if instance is None or not instance.offers(*capability):
            self._tried[method] = "the agent does not offer it"
            return False
        init = dict(channel.record.session_init or {})
        params = {
            "sessionId": channel.native_id,
            "cwd": init.get("cwd", self._key.directory),
            "mcpServers": init.get("mcpServers", []),
            **kept_parameters(init),
        }
        channel.incoming.loading = method == "session/load"
        channel.incoming.repeating = channel.record.agent in REPEATING_AGENTS
        if instance is not None and channel.incoming.loading:
            instance.bind(channel.native_id, channel)
        try:
            await request_with_login(channel, method, params)
            await self._drop_repeat()
        except RpcError as error:
            self._tried[method] = str(error)
            return False
        finally:
            channel.incoming.loading = channel.incoming.repeating = False
        return True

    async def _drop_repeat(self) -> None:
        """Wait until an agent that repeats its history after it was restored has done so."""
        for _ in range(REPEAT_PAUSES):
            if not self._channel.incoming.repeating:
                return
            before = self._channel.incoming.repeated
            await asyncio.sleep(REPEAT_PAUSE_S)
            self._channel.incoming.repeating = self._channel.incoming.repeated != before

    async def _replay(self) -> str | None:
        channel = self._channel
        await channel.flush()
        items, whole = await self._recent_items()
        await request_with_login(channel, "session/new", dict(channel.record.session_init or {}))
        return render_transcript(items, whole=whole, max_events=self._max_events, max_chars=self._max_chars)

    async def _recent_items(self) -> tuple[list[UniversalItem], bool]:
        """The last completed items, as many as a transcript may have, and whether they are all there are."""
        channel, record = self._channel, self._channel.record
        back = EVENTS_PER_ITEM * self._max_events
        while True:
            since = max(0, channel.mapper.sequence - back)
            history = await mapped_up_to(channel.pool.store, record.id, record.agent, since)
            whole = history.index == 0
            items = [
                event.item
                async for _, events in map_on(channel.pool.store, record.id, history)
                for event in events
                if isinstance(event, ItemCompleted)
            ]
            if whole or len(items) > self._max_events:
                return items, whole
            back *= 4


async def request_with_login(channel: SessionChannel, method: str, params: Mapping[str, Any]) -> Any:
    """Send a request that opens a session; confirm the API key first if the agent asks for it."""
    try:
        return await channel.outgoing.request(method, params)
    except AuthRequiredError:
        instance = channel.instance
        login = None if instance is None else key_login(instance.init_result)
        if instance is None or login is None:
            raise
        await instance.connection.request("authenticate", {"methodId": login})
        return await channel.outgoing.request(method, params)
