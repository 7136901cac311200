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
from sandbox_agent.sdk.errors import PROBLEM_PREFIX
from sandbox_agent.sdk.universal.events import ErrorData, SessionEndedData, UniversalEvent, UnparsedData
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text, json_text, sha256
from sandbox_agent.sdk.universal.mapping.emitter import Emitter, Time, rfc3339
from sandbox_agent.sdk.universal.mapping.item_lifecycle import ItemLifecycle, read_snapshot
from sandbox_agent.sdk.universal.mapping.message_items import SLOT_OF_UPDATE, Messages
from sandbox_agent.sdk.universal.mapping.open_turns import OpenTurns
from sandbox_agent.sdk.universal.mapping.session_state import (
    STARTING_METHODS,
    SessionState,
    ended_data,
    exit_data,
)
from sandbox_agent.sdk.universal.mapping.status_items import add_notice
from sandbox_agent.sdk.universal.mapping.tools import Tools
from sandbox_agent.sdk.universal.mapping.user_requests import UserRequests
from sandbox_agent.sdk.universal.meta import product_meta
from sandbox_agent.sdk.universal.user_requests import PendingPermission, PendingQuestion

Direction = Literal["client", "agent"]
_UNREADABLE = object()

METHODS_WITHOUT_EVENT = frozenset(
    {
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/release",
        "terminal/wait_for_exit",
        "terminal/kill",
        "elicitation/complete",
        "mcp/connect",
        "mcp/message",
        "mcp/disconnect",
    }
)
"""ACP methods of the agent for which the legacy schema has no event."""


class UniversalMapper:
    """Derives the universal events of one session.

    `agent` is part of `session.started`; `include_raw` puts the ACP message into every event; `clock` gives
    the time when `feed` is called without one.
    """

    def __init__(
        self,
        session_id: str = "session",
        *,
        agent: str | None = None,
        native_session_id: str | None = None,
        include_raw: bool = False,
        clock: Callable[[], Time] | None = None,
    ) -> None:
        self._clock = clock or _now
        self._out = out = Emitter(session_id, native_session_id, include_raw)
        self._items = ItemLifecycle(out)
        self._messages = Messages(self._items)
        self._tools = Tools(self._items)
        self._turns = OpenTurns(out, self._items, self._messages, self._tools)
        self._user_requests = UserRequests(out, self._tools)
        self._session = SessionState(out, agent)
        self._calls: dict[tuple[Direction, str], tuple[str, dict[str, Any]]] = {}

    @property
    def sequence(self) -> int:
        """The number of the last event."""
        return self._out.sequence

    @property
    def native_session_id(self) -> str | None:
        """The agent's id of the session, once it is known."""
        return self._out.native_session_id

    @property
    def open_turn_ids(self) -> list[str]:
        """The turns that have no answer yet."""
        return self._turns.open_turn_ids

    @property
    def ended(self) -> bool:
        """Whether the session has ended and was not restored since."""
        return self._session.ended

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

    def feed(
        self, message: dict[str, Any] | bytes | str, direction: Direction, time: Time | None = None
    ) -> list[UniversalEvent]:
        """The events one message produces; bytes and text are read as JSON."""
        self._out.time = rfc3339(self._clock() if time is None else time)
        value = self._decode(message) if isinstance(message, bytes | str) else message
        if value is not _UNREADABLE:
            self._read(value, direction)
        raw = message.decode("utf-8", "replace") if isinstance(message, bytes) else message
        shown = raw if value is _UNREADABLE else value
        return self._out.finish(shown)

    def _decode(self, text: bytes | str) -> Any:
        try:
            return json_codec.decode(text)
        except (ValueError, RecursionError) as error:
            raw = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
            self._unparsed(f"not JSON: {error}", "message", raw, synthetic=True)
            return _UNREADABLE

    def _read(self, message: Any, direction: Direction) -> None:
        fields = as_dict(message)
        method = fields.get("method")
        if isinstance(method, str):
            params = as_dict(fields.get("params"))
            if "id" in fields:
                self._calls[direction, json_text(fields["id"])] = (method, params)
            if direction == "client":
                self._from_client(message, method, params)
            else:
                self._from_agent(message, method, params)
        elif "id" in fields and ("result" in fields or "error" in fields):
            self._response(message, direction)
        else:
            self._unparsed("not a JSON-RPC message", "message", message, synthetic=True)

    # Messages of the client

    def _from_client(self, message: dict[str, Any], method: str, params: dict[str, Any]) -> None:
        if method == "session/prompt":
            self._turns.start(json_text(message.get("id")), params)
        elif method in STARTING_METHODS:
            self._turns.abandon(
                "the session was started again before the agent answered", "session_restarted"
            )
            self._user_requests.reject_all()
            self._session.request(method)
        elif method.startswith(("_sandboxagent/", "_adapter/")):
            self._notification(message, method, params, synthetic=True)

    # Messages of the agent

    def _from_agent(self, message: dict[str, Any], method: str, params: dict[str, Any]) -> None:
        request_id = message.get("id")
        understood = True
        if method == "session/update":
            self._update(message, params)
        elif method == "session/request_permission":
            understood = "id" in message and self._user_requests.request_permission(request_id, params)
        elif method == "_sandboxagent/session/request_question":
            understood = "id" in message and self._user_requests.request_question(request_id, params)
        elif method == "elicitation/create":
            understood = "id" in message and self._user_requests.request_form(request_id, params)
        elif method == "$/cancel_request":
            understood = self._user_requests.withdraw(params.get("requestId")) or "requestId" in params
        elif method.startswith(("_sandboxagent/", "_adapter/")):
            self._notification(message, method, params, synthetic=method.startswith("_adapter/"))
        else:
            understood = method in METHODS_WITHOUT_EVENT
        if not understood:
            self._unparsed(f"no universal event for {method}", method, message, synthetic=True)

    def _update(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        update = as_dict(params.get("update"))
        kind = as_text(update.get("sessionUpdate"))
        if kind is None:
            self._unparsed("the update has no kind", "session/update", message, synthetic=True)
        elif kind in SLOT_OF_UPDATE:
            self._chunk(kind, update, message)
        elif kind in ("tool_call", "tool_call_update"):
            call_id = as_text(update.get("toolCallId"))
            if call_id is None:
                self._unparsed("the tool call has no id", "session/update", message, synthetic=True)
                return
            parent_id = self._messages.open_assistant_id
            self._messages.end_runs()
            (self._tools.call if kind == "tool_call" else self._tools.update)(update, call_id, parent_id)
        else:
            self._messages.end_runs()
            add_notice(self._items, kind, update)

    def _chunk(self, kind: str, update: dict[str, Any], message: dict[str, Any]) -> None:
        block, slot = update.get("content"), SLOT_OF_UPDATE[kind]
        if not isinstance(block, dict) or (
            block.get("type") == "text" and not isinstance(block.get("text"), str)
        ):
            self._unparsed("the chunk has no content block", "session/update", message, synthetic=True)
        elif slot != "user" or self._session.loading or not self._turns.is_echo(block):
            self._messages.chunk(slot, update, block)

    def _notification(
        self, message: dict[str, Any], method: str, params: dict[str, Any], *, synthetic: bool
    ) -> None:
        """Map an extension message of the agent, of the server or of the SDK."""
        payload = {**params, **as_dict(params.get("data"))}
        if method == "_sandboxagent/session/started":
            self._session.started(method, params, params, synthetic=False)
        elif method == "_sandboxagent/session/ended":
            self._end(ended_data(params, by_client=synthetic), synthetic=synthetic)
        elif method == "_adapter/agent_exited":
            self._end(exit_data(params), synthetic=True)
        elif method == "_sandboxagent/item/completed":
            self._item_completed(message, params)
        elif method == "_sandboxagent/error" and isinstance(payload.get("message"), str):
            code = payload.get("code")
            data = ErrorData(
                payload["message"], None if code is None else _as_code(code), payload.get("details")
            )
            self._out.emit("error", data, synthetic=synthetic)
        elif method == "_sandboxagent/agent/unparsed" and isinstance(payload.get("error"), str):
            location = as_text(payload.get("location")) or ""
            data_unparsed = UnparsedData(payload["error"], location, as_text(payload.get("raw_hash")))
            self._out.emit("agent.unparsed", data_unparsed, synthetic=synthetic, keep_raw=True)
        elif method == "_adapter/invalid_stdout" and isinstance(params.get("raw"), str):
            error = as_text(params.get("error")) or "not JSON"
            self._unparsed(error, "stdout", params["raw"], synthetic=True)
        else:
            self._unparsed(f"no universal event for {method}", method, message, synthetic=True)

    def _item_completed(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        final = None
        for place in (
            params.get("item"),
            as_dict(params.get("data")).get("item"),
            product_meta(params).get("item"),
            params,
        ):
            final = final or read_snapshot(place)
        if final is None:
            self._unparsed("the item cannot be read", message["method"], message, synthetic=True)
        elif not self._messages.finish(final) and not self._tools.finish(final):
            self._items.arrived_whole(final)

    # Answers

    def _response(self, message: dict[str, Any], direction: Direction) -> None:
        key = json_text(message["id"])
        asked_by: Direction = "agent" if direction == "client" else "client"
        call = self._calls.pop((asked_by, key), None)
        if direction == "client":
            if call is None:
                self._unparsed("an answer to no request", "response", message, synthetic=True)
            else:
                self._user_requests.answer(message["id"], as_dict(message.get("result")))
            return
        if "error" in message:
            error, synthetic = _read_error(message["error"])
            if call is not None and call[0] == "session/load":
                self._session.loading = False
            if self._turns.is_open(key):
                self._turns.failed(key, error, synthetic=synthetic)
            else:
                self._out.emit("error", error, synthetic=synthetic)
        elif call is None:
            self._unparsed("an answer to no request", "response", message, synthetic=True)
        elif self._turns.is_open(key):
            self._turns.answered(key, as_dict(message["result"]))
        elif call[0] in STARTING_METHODS:
            self._messages.close_all("completed")
            self._tools.close_all("completed")
            self._session.started(call[0], call[1], as_dict(message["result"]), synthetic=True)

    def _end(self, data: SessionEndedData, *, synthetic: bool) -> None:
        if self._session.ended:
            return
        code = "agent_process_exited" if data.terminated_by == "agent" else "session_ended"
        self._turns.abandon("the session ended before the agent answered", code)
        self._user_requests.reject_all()
        self._session.end(data, synthetic=synthetic)

    def _unparsed(self, error: str, location: str, raw: Any, *, synthetic: bool) -> None:
        raw_hash = sha256(raw if isinstance(raw, str) else json_text(raw))
        data = UnparsedData(error, location, raw_hash)
        self._out.emit("agent.unparsed", data, synthetic=synthetic, keep_raw=True)


def _now() -> Time:
    return datetime.now(UTC)


def _as_code(code: Any) -> str:
    return code if isinstance(code, str) else json_text(code)


def _read_error(error: Any) -> tuple[ErrorData, bool]:
    """A JSON-RPC error, and whether it is synthetic: a problem of the server inside it is."""
    fields = as_dict(error)
    message = as_text(fields.get("message")) or json_text(error)
    data, code = fields.get("data"), fields.get("code")
    kept = product_meta(data)
    problem = as_text(as_dict(data).get("type")) or ""
    if problem.startswith(PROBLEM_PREFIX):
        return ErrorData(message, problem.removeprefix(PROBLEM_PREFIX), data), True
    return ErrorData(
        message, None if code is None else _as_code(kept.get("code", code)), kept.get("details", data)
    ), False
