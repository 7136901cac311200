"""Maps the extension messages `_sandboxagent/*` and `_adapter/*` of agents, the server and the SDK."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal.event_data import ErrorData, SessionEndedData, UnparsedData
from sandbox_agent.sdk.universal.json_reading import as_dict, as_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle, read_snapshot
from sandbox_agent.sdk.universal.mapping.items.message_items import Messages
from sandbox_agent.sdk.universal.mapping.items.tool_items import Tools
from sandbox_agent.sdk.universal.mapping.open_turns import OpenTurns
from sandbox_agent.sdk.universal.mapping.rpc_error import code_text
from sandbox_agent.sdk.universal.mapping.session_state import SessionStarts, ended_data, exit_data
from sandbox_agent.sdk.universal.mapping.user_requests import UserRequests
from sandbox_agent.sdk.universal.meta import product_meta


def is_extension(method: str) -> bool:
    return method.startswith(("_sandboxagent/", "_adapter/"))


class ExtensionMessages:
    def __init__(
        self,
        out: Emitter,
        items: ItemLifecycle,
        messages: Messages,
        tools: Tools,
        turns: OpenTurns,
        user_requests: UserRequests,
        session: SessionStarts,
    ) -> None:
        self._out = out
        self._items = items
        self._messages = messages
        self._tools = tools
        self._turns = turns
        self._user_requests = user_requests
        self._session = session

    def read(self, message: dict[str, Any], method: str, params: dict[str, Any], *, synthetic: bool) -> None:
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
                payload["message"], None if code is None else code_text(code), payload.get("details")
            )
            self._out.emit("error", data, synthetic=synthetic)
        elif method == "_sandboxagent/agent/unparsed" and isinstance(payload.get("error"), str):
            location = as_text(payload.get("location")) or ""
            data_unparsed = UnparsedData(payload["error"], location, as_text(payload.get("raw_hash")))
            self._out.emit("agent.unparsed", data_unparsed, synthetic=synthetic, keep_raw=True)
        elif method == "_adapter/invalid_stdout" and isinstance(params.get("raw"), str):
            error = as_text(params.get("error")) or "not JSON"
            self._out.unparsed(error, "stdout", params["raw"])
        else:
            self._out.unparsed(f"no universal event for {method}", method, message)

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
            self._out.unparsed("the item cannot be read", message["method"], message)
        elif not self._messages.finish(final) and not self._tools.finish(final):
            self._items.arrived_whole(final)

    def _end(self, data: SessionEndedData, *, synthetic: bool) -> None:
        if self._session.state.ended:
            return
        code = "agent_process_exited" if data.terminated_by == "agent" else "session_ended"
        self._turns.abandon("the session ended before the agent answered", code)
        self._user_requests.reject_all()
        self._session.end(data, synthetic=synthetic)
