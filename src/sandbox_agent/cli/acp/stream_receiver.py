"""Reads the stream of the instance and passes each message on once, in order, across reconnects.

A stream that broke is opened again after the last event. At each heartbeat the receiver checks whether the
open requests can still be answered: the instance may have ended, or may have dropped a request.
"""

from __future__ import annotations

import json
from typing import Any, Protocol
from urllib.parse import quote

from sandbox_agent.cli.acp.reconnection import Reconnection
from sandbox_agent.cli.acp.server_connection import Server, ServerConnection, Unreachable
from sandbox_agent.sdk.transport.streams.sse import Frame, FrameDecoder

# Three heartbeats of the server: a stream that is silent for longer is broken.
_SILENCE_S = 45.0
_CALL_TIMEOUT_S = 15.0
_READ_BYTES = 1 << 16
_NO_MESSAGE = b'{"jsonrpc":"2.0","id":"sandbox-agent-acp","result":null}'


class ReceiverOwner(Protocol):
    """What a receiver reports."""

    def message_received(self, message: bytes) -> None: ...
    def open_on_server(self) -> list[bytes]:
        """The ids of requests that the server has accepted and that are not answered."""

    def never_answered(self, raw_ids: list[bytes]) -> None: ...
    def lost(self, reason: str, data: object = None) -> None: ...


class InstanceLost(Exception):
    """The instance has ended, or messages of it are gone."""

    def __init__(self, reason: str, problem: object = None) -> None:
        super().__init__(reason)
        self.problem = problem


class StreamReceiver:
    def __init__(
        self, owner: ReceiverOwner, server: Server, server_id: str, reconnection: Reconnection
    ) -> None:
        self._owner = owner
        self._server = server
        self._server_id = server_id
        self._path = server.instance_path(server_id)
        self._stream = ServerConnection(server)
        self._attempt = reconnection.attempt()
        self._last: int | None = None
        self._created_at: int | None = None

    def skip_existing(self) -> None:
        """Begin after what an instance that exists has said to earlier clients. Raises Unreachable."""
        while True:
            try:
                found = self._find()
                break
            except Unreachable as error:
                self._attempt.failed(error)
        self._last = found["lastEventId"] if found is not None else None

    def run(self) -> None:
        """Read until the instance is lost."""
        try:
            while True:
                try:
                    self._read_once()
                    error = Unreachable("the server ended the stream")
                except Unreachable as failure:
                    error = failure
                self._attempt.failed(error)
        except InstanceLost as error:
            self._owner.lost(str(error), error.problem)
        except Unreachable as error:
            self._owner.lost(str(error))

    def exit_of_agent(self) -> InstanceLost:
        """Why the agent has exited, with the end of its stderr, which the server tells to any POST."""
        connection = ServerConnection(self._server)
        try:
            # An agent that another client has started again meanwhile ignores this unknown answer.
            headers = {"content-type": "application/json"}
            reply = connection.request("POST", self._path, _NO_MESSAGE, headers, timeout_s=_CALL_TIMEOUT_S)
        except Unreachable:
            return InstanceLost("the agent process has ended")
        finally:
            connection.close()
        if reply.kind != "agent_process_exited":
            return InstanceLost("the agent process has ended")
        return InstanceLost(reply.reason, reply.problem)

    def instance_gone(self) -> bool:
        """Whether the server does not have the instance any more."""
        try:
            self._check_instance()
        except InstanceLost:
            return True
        except Unreachable:
            pass
        return False

    def _read_once(self) -> None:
        """Read one connection to its end."""
        headers = {"accept": "text/event-stream"}
        if self._last is not None:
            headers["last-event-id"] = str(self._last)
        response = self._stream.open("GET", self._path, headers=headers, timeout_s=_SILENCE_S)
        if response.status != 200:
            reply = self._stream.whole(response)
            if reply.kind and reply.kind != "server_stopping":
                raise InstanceLost(reply.reason)
            raise Unreachable(reply.reason)
        self._check_instance()
        self._attempt.succeeded()
        decoder = FrameDecoder()
        while data := self._stream.read(response, _READ_BYTES):
            for frame in decoder.feed(data):
                self._take(frame)
        self._stream.close()

    def _take(self, frame: Frame) -> None:
        if frame.event == "message" and frame.id is not None:
            self._owner.message_received(frame.data)
            self._last = int(frame.id)
        elif frame.event == "gap":
            raise InstanceLost("the server has discarded messages that were not read yet")
        elif frame.event == "comment":
            self._check_open_requests()

    def _check_open_requests(self) -> None:
        waiting = self._owner.open_on_server()
        if not waiting:
            return
        found = self._check_instance()
        if found["lastEventId"] > (self._last or 0):
            return
        if found["status"] == "exited":
            raise self.exit_of_agent()
        if found["pendingRequests"] == 0:
            self._owner.never_answered(waiting)

    def _check_instance(self) -> dict[str, Any]:
        found = self._find()
        if found is None:
            raise InstanceLost(f"the server has no instance '{self._server_id}' any more")
        if self._created_at is None:
            self._created_at = found["createdAtMs"]
        if self._created_at != found["createdAtMs"]:
            raise InstanceLost(f"the agent of '{self._server_id}' was started again by another client")
        return found

    def _find(self) -> dict[str, Any] | None:
        """The instance in the server's list. Raises Unreachable."""
        # A connection of its own: the sender asks too, from its thread.
        connection = ServerConnection(self._server)
        path = f"/v1/acp?serverId={quote(self._server_id, safe='')}"
        reply = connection.request("GET", path, timeout_s=_CALL_TIMEOUT_S)
        connection.close()
        try:
            servers = json.loads(reply.body)["servers"] if reply.ok else []
            matching = [one for one in servers if one["serverId"] == self._server_id]
        except (ValueError, KeyError, TypeError):
            raise Unreachable("the answer of the server to GET /v1/acp is not understood") from None
        if not reply.ok:
            raise Unreachable(reply.reason)
        return matching[0] if matching else None
