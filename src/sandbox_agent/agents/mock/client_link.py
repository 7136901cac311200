"""What the agent sends to its client, in the protocol version of the connection."""

from __future__ import annotations

from typing import Any

from sandbox_agent.agents.mock import protocol_v2
from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError, LineOutput
from sandbox_agent.agents.mock.protocol_v2 import UpdatesV2


class ClientLink:
    def __init__(self, output: LineOutput) -> None:
        self._output = output
        self._v2 = UpdatesV2()
        self.version = 1
        """Negotiated by `initialize`."""

    def update(self, session_id: str, update: Json) -> None:
        updates = [update] if self.version == 1 else self._v2.of(session_id, update)
        for one in updates:
            self.notify("session/update", {"sessionId": session_id, "update": one})

    def notify(self, method: str, params: Json) -> None:
        self._output.send({"jsonrpc": "2.0", "method": method, "params": params})

    def request(self, request_id: int | str, session_id: str, method: str, params: Json) -> None:
        if self.version == protocol_v2.VERSION:
            if method == "session/request_permission":
                params = protocol_v2.permission_params(params)
            self.update(session_id, protocol_v2.state("requires_action"))
        self._output.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def request_answered(self, session_id: str) -> None:
        if self.version == protocol_v2.VERSION:
            self.update(session_id, protocol_v2.state("running"))

    def prompt_accepted(self, request_id: Any, session_id: str, message_id: str, blocks: list[Json]) -> None:
        """In v2 a prompt is answered when it is accepted; a `state_update` reports the end of its turn."""
        if self.version == protocol_v2.VERSION:
            self._output.send({"jsonrpc": "2.0", "id": request_id, "result": {"messageId": message_id}})
            message = {"sessionUpdate": "user_message", "messageId": message_id, "content": blocks}
            self.update(session_id, message)
            self.update(session_id, protocol_v2.state("running"))

    def turn_ended(
        self, request_id: Any, session_id: str, result: Json | None, error: JsonRpcError | None
    ) -> None:
        if self.version == 1:
            outcome: Json = {"result": result} if error is None else {"error": error.as_json()}
            self._output.send({"jsonrpc": "2.0", "id": request_id, **outcome})
        elif error is not None:
            self.update(session_id, protocol_v2.state("idle", stopReason="error", error=error.as_json()))
        else:
            reason = (result or {}).get("stopReason")
            self.update(session_id, protocol_v2.state("idle", stopReason=reason))
