"""`UniversalMapper`: ACP messages in, universal events out; no I/O.

One mapper serves one session and is fed every message of it, in both directions, in stream order. The same
messages give the same events, live or from a store. It never raises on its input: a message it cannot read
becomes `agent.unparsed` with the message in `raw`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.universal.event_data import SessionUpdatedData
from sandbox_agent.sdk.universal.events import UniversalEvent
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text, json_text
from sandbox_agent.sdk.universal.mapping import acp_v2
from sandbox_agent.sdk.universal.mapping.emitter import Emitter, EmitterState, Time, rfc3339
from sandbox_agent.sdk.universal.mapping.extension_messages import ExtensionMessages, is_extension
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle
from sandbox_agent.sdk.universal.mapping.items.message_items import Messages
from sandbox_agent.sdk.universal.mapping.items.tool_items import Tools
from sandbox_agent.sdk.universal.mapping.mapper_state import (
    MapperState,
    OpenCall,
    decode_state,
    encode_state,
)
from sandbox_agent.sdk.universal.mapping.open_turns import OpenTurns
from sandbox_agent.sdk.universal.mapping.rpc_error import read_rpc_error
from sandbox_agent.sdk.universal.mapping.session_state import (
    STARTING_METHODS,
    SessionStarts,
)
from sandbox_agent.sdk.universal.mapping.session_updates import SessionUpdates
from sandbox_agent.sdk.universal.mapping.user_requests import UserRequests
from sandbox_agent.sdk.universal.mapping.vendor_questions import GROK_METHODS
from sandbox_agent.sdk.universal.usage import Usage
from sandbox_agent.sdk.universal.user_request_models import PendingPermission, PendingQuestion

Direction = Literal["client", "agent"]
LOGOUT_METHODS = ("logout", "auth/logout")
"""Of ACP v1 and of v2."""


class UniversalMapper:
    """Derives the universal events of one session.

    `agent` is part of `session.started`; `include_raw` puts the ACP message into every event; `clock` gives
    the time when `feed` is called without one. `state` continues from a mapper's `state()`.
    """

    def __init__(
        self,
        session_id: str = "session",
        *,
        agent: str | None = None,
        native_session_id: str | None = None,
        include_raw: bool = False,
        clock: Callable[[], Time] | None = None,
        state: str | None = None,
    ) -> None:
        self._clock = clock or _now
        self._state = (
            decode_state(state) if state else MapperState(EmitterState(session_id, native_session_id))
        )
        self._out = out = Emitter(self._state.emitter, include_raw=include_raw)
        self._items = ItemLifecycle(out, self._state.ids_given_by_agent)
        self._messages = Messages(self._items, self._state.messages)
        self._tools = Tools(self._items, self._state.tools)
        self._turns = OpenTurns(out, self._items, self._messages, self._tools, self._state.turns)
        self._user_requests = UserRequests(out, self._tools, self._state.pending)
        self._session = SessionStarts(out, agent, self._state.session)
        self._updates = SessionUpdates(
            self._state, out, self._items, self._messages, self._tools, self._turns, self._session
        )
        self._extensions = ExtensionMessages(
            out, self._items, self._messages, self._tools, self._turns, self._user_requests, self._session
        )

    def __repr__(self) -> str:
        return f"<UniversalMapper {self._state.emitter.session_id!r}, {self.count} events>"

    @property
    def include_raw(self) -> bool:
        """Whether every event has its ACP message."""
        return self._out.include_raw

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._state.emitter.sequence

    @property
    def count(self) -> int:
        """The number of events so far."""
        return self._state.emitter.count

    @property
    def native_session_id(self) -> str | None:
        """The agent's id of the session, once it is known."""
        return self._state.emitter.native_session_id

    @property
    def usage(self) -> Usage:
        """What the session has used so far: tokens and cost in sum, and the context."""
        return self._state.usage.total()

    @property
    def open_turn_ids(self) -> list[str]:
        """The turns that have no answer yet."""
        return self._turns.open_turn_ids

    @property
    def open_call_ids(self) -> list[Any]:
        """The ids of the client's requests that have no answer yet."""
        return [json_codec.decode(key) for key in self._state.client_calls]

    @property
    def ended(self) -> bool:
        """Whether the session has ended and was not restored since."""
        return self._state.session.ended

    @property
    def pending_permissions(self) -> dict[str, PendingPermission]:
        """Permission requests without an answer, by permission id."""
        return dict(self._user_requests.permissions)

    @property
    def pending_questions(self) -> dict[str, PendingQuestion]:
        """Questions without an answer, by question id."""
        return dict(self._user_requests.questions)

    def copy(self) -> UniversalMapper:
        """An independent mapper in the same state."""
        return copy.deepcopy(self)

    def state(self) -> str | None:
        """The state as JSON, for `UniversalMapper(state=...)`; None if JSON cannot hold it."""
        return encode_state(self._state)

    def feed(
        self, message: dict[str, Any] | bytes | str, direction: Direction, time: Time | None = None
    ) -> list[UniversalEvent]:
        """The events one message produces; bytes and text are read as JSON."""
        moment = rfc3339(self._clock() if time is None else time)
        if isinstance(message, bytes | str):
            self._feed_text(message, direction, moment)
        else:
            self._out.begin(message, moment)
            self._read(message, direction)
        return self._out.finish()

    def _feed_text(self, text: bytes | str, direction: Direction, moment: str) -> None:
        try:
            value = json_codec.decode(text)
        except (ValueError, RecursionError) as error:
            raw = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            self._out.begin(raw, moment)
            self._out.unparsed(f"not JSON: {error}", "message", raw)
            return
        self._out.begin(value, moment)
        self._read(value, direction)

    def _read(self, message: Any, direction: Direction) -> None:
        fields = as_dict(message)
        method = fields.get("method")
        if isinstance(method, str):
            params = as_dict(fields.get("params"))
            if "id" in fields:
                self._calls_of(direction)[json_text(fields["id"])] = OpenCall(method, params)
            if direction == "client":
                self._from_client(message, method, params)
            elif method == "session/update":
                self._updates.read(message, params)
            else:
                self._from_agent(message, method, params)
        elif "id" in fields and ("result" in fields or "error" in fields):
            self._response(message, direction)
        else:
            self._out.unparsed("not a JSON-RPC message", "message", message)

    def _calls_of(self, side: Direction) -> dict[str, OpenCall]:
        return self._state.client_calls if side == "client" else self._state.agent_calls

    # Messages of the client

    def _from_client(self, message: dict[str, Any], method: str, params: dict[str, Any]) -> None:
        if method == "session/prompt":
            self._turns.start(json_text(message.get("id")), params)
        elif method == "_session/steering":
            self._turns.steered(params)
        elif method in STARTING_METHODS:
            self._turns.abandon(
                "the session was started again before the agent answered", "session_restarted"
            )
            self._user_requests.reject_all()
            self._session.request(method)
        elif method == "$/cancel_request":
            call = self._state.client_calls.get(json_text(params.get("requestId")))
            self._updated("cancel_request", call.method if call else None, params, synthetic=True)
        elif is_extension(method):
            self._extensions.read(message, method, params, synthetic=True)

    # Messages of the agent

    def _from_agent(self, message: dict[str, Any], method: str, params: dict[str, Any]) -> None:
        request_id = message.get("id")
        understood = True
        if method == "session/request_permission":
            asked = acp_v2.permission_params(params)
            understood = "id" in message and self._user_requests.request_permission(request_id, asked)
        elif method == "_sandboxagent/session/request_question":
            understood = "id" in message and self._user_requests.request_question(request_id, params)
        elif method in GROK_METHODS:
            understood = "id" in message and self._user_requests.request_grok(request_id, params)
        elif method == "elicitation/create":
            understood = "id" in message and self._user_requests.request_form(request_id, params)
        elif method == "$/cancel_request":
            understood = self._user_requests.withdraw(params.get("requestId")) or "requestId" in params
        elif method == "elicitation/complete":
            self._updated("elicitation_complete", as_text(params.get("elicitationId")), params)
        elif is_extension(method):
            self._extensions.read(message, method, params, synthetic=method.startswith("_adapter/"))
        # Every other method belongs to a service of the client or to the agent's vendor: no universal event.
        if not understood:
            self._out.unparsed(f"no universal event for {method}", method, message)

    # Answers

    def _response(self, message: dict[str, Any], direction: Direction) -> None:
        key = json_text(message["id"])
        asked_by: Direction = "agent" if direction == "client" else "client"
        call = self._calls_of(asked_by).pop(key, None)
        if direction == "client":
            if call is None:
                self._out.unparsed("an answer to no request", "response", message)
            else:
                self._user_requests.answer(message["id"], as_dict(message.get("result")))
            return
        if "error" in message:
            error, synthetic = read_rpc_error(message["error"])
            if call is not None and call.method == "session/load":
                self._session.state.loading = False
            if self._turns.is_open(key):
                self._turns.failed(key, error, synthetic=synthetic)
            else:
                self._out.emit("error", error, synthetic=synthetic)
        elif call is None:
            self._out.unparsed("an answer to no request", "response", message)
        elif self._turns.is_open(key) and acp_v2.is_acceptance(message["result"]):
            self._state.v2.active = True
            self._turns.accepted(key)
        elif self._turns.is_open(key):
            self._state.usage.add_turn(message["result"])
            self._turns.answered(key, as_dict(message["result"]))
        elif call.method in STARTING_METHODS:
            self._messages.close_all("completed")
            self._tools.close_all("completed")
            self._session.started(call.method, call.params, as_dict(message["result"]), synthetic=True)
        elif call.method == "session/delete":
            self._updated("session_delete", as_text(call.params.get("sessionId")), call.params)
        elif call.method in LOGOUT_METHODS:
            self._updated("logout", None, call.params)

    def _updated(
        self, label: str, detail: str | None, params: dict[str, Any], *, synthetic: bool = False
    ) -> None:
        self._out.emit("session.updated", SessionUpdatedData(label, detail, params), synthetic=synthetic)


def _now() -> Time:
    return datetime.now(UTC)
