"""Bringing a conversation back, by the best way there is.

In order: reattach to the agent that still runs, `session/resume`, `session/load`, and as the last
resort a new session that gets the old one told as text. Which way it was can always be seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from .choices import Choices
from .errors import AuthRequiredError, RpcError, SandboxAgentError, SessionNotRestoredError
from .history import read_history, replay_history
from .hub import InstanceKey
from .instance import AgentInstance
from .link import SessionLink
from .transcript import render_transcript
from .universal import UniversalMapper, notes

RestorePolicy = Literal["auto", "reattach", "native", "replay", "never"]
RestoreMethod = Literal["created", "reattached", "resumed", "loaded", "replayed"]

# Agents that name one of these log in with a key that is in their environment already.
KEY_LOGINS = (
    "codex-api-key",
    "openai-api-key",
    "anthropic-api-key",
    "api-key",
    "gemini-api-key",
    "xai.api_key",
    "openai",
)


@dataclass(frozen=True, slots=True)
class Restored:
    """How a session came to its present agent process."""

    method: RestoreMethod
    tried: Mapping[str, str] = field(default_factory=dict)
    """The better ways that did not work, and why."""
    not_applied: Mapping[str, str] = field(default_factory=dict)
    """Options chosen before that the agent would not take again, and why."""
    transcript: str | None = None
    """For `replayed`: what the next prompt tells the agent about the past."""

    @property
    def history_carried(self) -> bool:
        """Whether the agent itself still has the whole conversation."""
        return self.method in ("created", "reattached", "resumed", "loaded")


class Restorer:
    """Restores one session."""

    def __init__(
        self, link: SessionLink, key: InstanceKey, *, replay_max_events: int, replay_max_chars: int
    ) -> None:
        self._link = link
        self._key = key
        self._max_events = replay_max_events
        self._max_chars = replay_max_chars
        self._choices = Choices(link)
        self._tried: dict[str, str] = {}

    async def restore(self, policy: RestorePolicy) -> Restored:
        """Connect the session to an agent again; raises `SessionNotRestoredError` if no way worked."""
        if policy in ("auto", "reattach") and self._link.instance is None and await self._reattach():
            return Restored("reattached", self._tried)
        if policy in ("auto", "native", "replay"):
            await self._link.leave()
            self._close_old_life()
            wanted, mode = self._choices.options, self._choices.current_mode
            self._link.enter(await self._link.hub.acquire(self._key))
            method, transcript = await self._bring_back(policy)
            if method is not None:
                refused = await self._choices.apply_again(wanted, mode)
                return Restored(method, dict(self._tried), refused, transcript)
            await self._link.leave()
        raise SessionNotRestoredError(self._link.record.id, self._tried)

    async def _bring_back(self, policy: RestorePolicy) -> tuple[RestoreMethod | None, str | None]:
        try:
            if policy in ("auto", "native"):
                if await self._native("session/resume", "sessionCapabilities", "resume"):
                    return "resumed", None
                if await self._native("session/load", "loadSession"):
                    return "loaded", None
            if policy in ("auto", "replay"):
                return "replayed", await self._tell_again()
        except BaseException:
            await self._link.leave()
            raise
        return None, None

    async def _reattach(self) -> bool:
        link = self._link
        try:
            instance = await link.hub.adopt(link.record)
        except SandboxAgentError as error:
            self._tried["reattach"] = str(error)
            return False
        if instance is None:
            self._tried["reattach"] = "the agent process of the session no longer runs"
            return False
        link.enter(instance)
        await self._catch_up(instance)
        link.desk.ask_again()
        return True

    async def _catch_up(self, instance: AgentInstance) -> None:
        """Read what was said while nobody listened, and then go on with the live stream."""
        link, reader = self._link, instance.connection.reader
        for call_id in link.open_calls:
            instance.own(call_id, link)
        seen = link.record.last_event_id or 0
        link.hold_back = upto = reader.last_event_id
        instance.bind(link.native_id, link)
        missed = await reader.history(seen, upto) if upto > seen else []
        link.hold_back = None
        for event_id, envelope in missed:
            instance.replayed(link, envelope, event_id)
        link.let_through()
        reader.start()
        facts = await instance.connection.standing.facts()
        if facts is not None and isinstance(newest := facts.get("lastEventId"), int):
            await instance.connection.standing.caught_up(newest)

    def _close_old_life(self) -> None:
        if not self._link.mapper.ended:
            self._link.note(
                notes.session_ended("error", "daemon", message="the agent process of the session is gone")
            )

    async def _native(self, method: str, *capability: str) -> bool:
        link = self._link
        instance = link.instance
        offered = instance.capability(*capability) if instance is not None else None
        if offered is None or offered is False:
            self._tried[method] = "the agent does not offer it"
            return False
        init = dict(link.record.session_init or {})
        params = {
            "sessionId": link.native_id,
            "cwd": init.get("cwd", self._key.directory),
            "mcpServers": init.get("mcpServers", []),
        }
        link.loading = method == "session/load"
        if instance is not None and link.loading:
            instance.bind(link.native_id, link)
        try:
            await request_with_login(link, method, params)
        except RpcError as error:
            self._tried[method] = str(error)
            return False
        finally:
            link.loading = False
        return True

    async def _tell_again(self) -> str | None:
        link = self._link
        await link.flush()
        history = await read_history(link.hub.store, link.record.id)
        events = replay_history(history, UniversalMapper(link.record.id, agent=link.record.agent))
        await request_with_login(link, "session/new", dict(link.record.session_init or {}))
        return render_transcript(events, max_events=self._max_events, max_chars=self._max_chars)


async def request_with_login(link: SessionLink, method: str, params: Mapping[str, Any]) -> Any:
    """A request that opens a session; an agent that wants its API key confirmed first gets that."""
    try:
        return await link.request(method, params)
    except AuthRequiredError:
        instance = link.instance
        offered = (
            [one.get("id") for one in (instance.init_result.get("authMethods") or [])] if instance else []
        )
        login = next((one for one in KEY_LOGINS if one in offered), None)
        if instance is None or login is None:
            raise
        await instance.connection.request("authenticate", {"methodId": login})
        return await link.request(method, params)
