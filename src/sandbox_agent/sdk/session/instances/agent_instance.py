"""One agent process as the client sees it, and the sessions that share it.

A message of the stream goes to the session it belongs to: by the request it answers, else by the agent's
session id. Messages for a session id that is not bound yet are kept until it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from sandbox_agent.jsonrpc_error_codes import METHOD_NOT_FOUND
from sandbox_agent.sdk.errors import SandboxAgentError, UnsupportedSessionOptionError
from sandbox_agent.sdk.jsonrpc import Envelope, error_response
from sandbox_agent.sdk.transport.acp_connection import AcpConnection
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.sdk.transport.initialize import NEWEST_VERSION, agent_capabilities, initialize_params
from sandbox_agent.sdk.transport.streams.shared_streams import SharedStreams
from sandbox_agent.sdk.transport.streams.stream_reader import Gap
from sandbox_agent.sdk.universal import meta

log = logging.getLogger("sandbox_agent")

# How many messages for session ids that are not bound yet are kept.
EARLY_MESSAGES = 2000
ENVIRONMENT_HEADER = "x-sandbox-agent-env"


class SessionPort(Protocol):
    """The side of a session that an instance talks to."""

    def agent_message(self, envelope: Envelope, event_id: int | None) -> None: ...
    def events_lost(self, gap: Gap) -> None: ...
    def instance_lost(self, error: SandboxAgentError) -> None: ...


class AgentInstance:
    """A `server_id`, its connection, and the sessions that use it."""

    def __init__(
        self,
        api: HttpApi,
        server_id: str,
        agent: str,
        *,
        after: int | None = None,
        server_alive: Callable[[], bool] | None = None,
        shared: SharedStreams | None = None,
    ) -> None:
        self.server_id = server_id
        self.agent = agent
        self._api = api
        self.created_at_ms: int | None = None
        self.init_result: dict[str, Any] = {}
        self.connection = AcpConnection(
            api, server_id, self, after=after, server_alive=server_alive, shared=shared
        )
        self._sessions: dict[str, SessionPort] = {}
        self._owners: dict[str, SessionPort] = {}
        self._asked: dict[str, SessionPort] = {}
        self._early: list[tuple[str, Envelope, int | None]] = []
        self._replies: set[asyncio.Task[None]] = set()

    @property
    def lost(self) -> SandboxAgentError | None:
        return self.connection.lost

    def offers(self, *path: str) -> bool:
        """Whether the agent declares a capability: as an object, or as true."""
        value: Any = agent_capabilities(self.init_result)
        for key in path:
            value = value.get(key) if isinstance(value, Mapping) else None
        return value not in (None, False)

    @property
    def logout_method(self) -> str | None:
        """The method that logs the agent out; None if it has none."""
        if not self.offers("auth", "logout"):
            return None
        return "auth/logout" if self.is_v2 else "logout"

    @property
    def can_steer(self) -> bool:
        """Whether the agent takes messages into a running turn."""
        steering = (self.init_result.get("_meta") or {}).get("steering")
        return isinstance(steering, Mapping) and steering.get("supported") is True

    @property
    def takes_changed_input(self) -> bool:
        """Whether the user may change the input of a tool that waits for permission."""
        return meta.product_meta(self.init_result).get("changedInput") is True

    @property
    def is_v2(self) -> bool:
        """Whether the agent has chosen version 2 of ACP."""
        return self.init_result.get("protocolVersion") == NEWEST_VERSION

    async def open(
        self, directory: str, *, forms: bool, acp_version: int, env: Mapping[str, str] | None = None
    ) -> None:
        """Start the process and send `initialize`; the agent answers with this version or a lower one."""
        result = await self.connection.bootstrap(
            initialize_params(forms=forms, version=acp_version),
            {"agent": self.agent, "cwd": directory},
            self._environment_header(env or {}),
        )
        self.init_result = dict(result) if isinstance(result, Mapping) else {}
        self.created_at_ms = self.connection.created_at_ms
        if self.created_at_ms is None:  # a server of another make
            facts = await self.connection.status.facts()
            self.created_at_ms = facts.get("createdAtMs") if facts else None

    def _environment_header(self, env: Mapping[str, str]) -> dict[str, str]:
        """The variables of the session, added to those that the client sends with every request."""
        client_wide = self._api.headers.get(ENVIRONMENT_HEADER, "{}").strip()
        if not env:
            return {}
        if not client_wide.startswith("{"):
            reason = f"the header of the client names the profile {client_wide!r}; give one or the other"
            raise UnsupportedSessionOptionError("env", self.agent, reason)
        # ASCII: headers have no other letters.
        return {ENVIRONMENT_HEADER: json.dumps({**json.loads(client_wide), **env})}

    def bind(self, native_id: str, session: SessionPort) -> None:
        """Route messages with this agent session id to `session`, those already received first."""
        self._sessions[native_id] = session
        waiting = [entry for entry in self._early if entry[0] == native_id]
        for entry in waiting:
            self._early.remove(entry)
        for _, envelope, event_id in waiting:
            self._to_session(session, envelope, event_id)

    def own(self, call_id: str, session: SessionPort) -> None:
        """Route the answer to this request to `session`."""
        self._owners[call_id] = session

    def drop_call(self, call_id: str) -> None:
        """Forget a request that will have no answer."""
        self._owners.pop(call_id, None)

    def answered(self, request_id: Any) -> None:
        """Forget a request of the agent that was answered."""
        self._asked.pop(_key(request_id), None)

    def release(self, session: SessionPort) -> None:
        """Forget a session."""
        for table in (self._sessions, self._owners, self._asked):
            for key in [key for key, owner in table.items() if owner is session]:
                del table[key]

    def replayed(self, session: SessionPort, envelope: Envelope, event_id: int) -> None:
        """Route a message that was read again for one session; the others already have it."""
        params = envelope.get("params")
        native_id = params.get("sessionId") if isinstance(params, Mapping) else None
        if "method" not in envelope:
            if self._owners.get(str(envelope.get("id"))) is session:
                del self._owners[str(envelope.get("id"))]
                session.agent_message(envelope, event_id)
        elif native_id is not None and self._sessions.get(native_id) is session:
            self._to_session(session, envelope, event_id)

    # -- listener of the connection -------------------------------------------------------------------

    def message_received(self, envelope: Envelope, event_id: int | None) -> None:
        """Route a message to its session."""
        method = envelope.get("method")
        params = envelope.get("params")
        fields: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
        if method is None:
            owner = self._owners.pop(str(envelope.get("id")), None)
            if owner is not None:
                owner.agent_message(envelope, event_id)
        elif isinstance(native_id := fields.get("sessionId"), str):
            session = self._sessions.get(native_id)
            if session is None:
                del self._early[: -EARLY_MESSAGES + 1]
                self._early.append((native_id, envelope, event_id))
            else:
                self._to_session(session, envelope, event_id)
        elif method == "$/cancel_request":
            asked = self._asked.get(_key(fields.get("requestId")))
            if asked is not None:
                asked.agent_message(envelope, event_id)
        elif (owner := self._owners.get(str(fields.get("requestId")))) is not None:
            self._to_session(owner, envelope, event_id)
        elif method == "_adapter/agent_exited":
            # `instance_lost` tells every session, with exit code and stderr.
            return
        elif "id" in envelope:
            self._refuse(envelope)
        else:
            for session in self._all_sessions():
                session.agent_message(envelope, event_id)

    def events_lost(self, gap: Gap) -> None:
        for session in self._all_sessions():
            session.events_lost(gap)

    def instance_lost(self, error: SandboxAgentError) -> None:
        for session in self._all_sessions():
            session.instance_lost(error)

    def _all_sessions(self) -> list[SessionPort]:
        return list(dict.fromkeys([*self._sessions.values(), *self._owners.values()]))

    def _to_session(self, session: SessionPort, envelope: Envelope, event_id: int | None) -> None:
        if "id" in envelope:
            self._asked[_key(envelope["id"])] = session
        session.agent_message(envelope, event_id)

    def _refuse(self, envelope: Envelope) -> None:
        answer = error_response(envelope["id"], METHOD_NOT_FOUND, f"Method not found: {envelope['method']}")
        task = asyncio.create_task(self._reply(answer), name="refuse request")
        self._replies.add(task)
        task.add_done_callback(self._replies.discard)

    async def _reply(self, answer: Envelope) -> None:
        try:
            await self.connection.respond(answer)
        except SandboxAgentError as error:
            log.debug("an answer could not be delivered: %s", error)


def _key(request_id: Any) -> str:
    return json.dumps(request_id, sort_keys=True)
