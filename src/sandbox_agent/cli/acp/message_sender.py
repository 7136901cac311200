"""Sends the messages of the editor to the instance, one after the other.

Every POST has an `Idempotency-Key`, so a POST that broke is repeated and the agent still gets the message
once. Requests are posted with `respond-async`: their answers come on the stream only, and a message never
waits for the answer to an earlier one. The first message starts the agent and waits for its answer, because
an install or a start may fail.
"""

from __future__ import annotations

import itertools
import json
import secrets
import sys
from typing import Protocol
from urllib.parse import quote

from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.cli.acp.open_requests import error_answer
from sandbox_agent.cli.acp.reconnection import Reconnection
from sandbox_agent.cli.acp.server_connection import Reply, Server, ServerConnection, Unreachable
from sandbox_agent.jsonrpc_error_codes import INVALID_REQUEST, PARSE_ERROR

# The server sends a byte after 240 s at the latest, also while it installs the agent.
_START_TIMEOUT_S = 300.0
# A POST that is not the first is accepted at once.
_POST_TIMEOUT_S = 30.0
_HEADERS = {"content-type": "application/json", "accept": "application/json"}
_GATEWAY = (502, 503, 504)


class SenderOwner(Protocol):
    """What a sender reports."""

    def about_to_start(self) -> None:
        """The first message is about to be sent. Raises Unreachable."""

    def request_opened(self, raw_id: bytes) -> None: ...
    def request_accepted(self, raw_id: bytes) -> None: ...
    def started(self) -> None:
        """The first message was accepted: the instance exists."""

    def refused(self, raw_id: bytes, answer: bytes) -> None:
        """The message did not reach the agent; `raw_id` is empty if it is not a request."""

    def instance_gone(self) -> bool: ...
    def lost(self, reason: str, data: object = None) -> None: ...


class MessageSender:
    def __init__(
        self, owner: SenderOwner, server: Server, server_id: str, agent: str, reconnection: Reconnection
    ) -> None:
        self._owner = owner
        self._connection = ServerConnection(server)
        self._path = server.instance_path(server_id)
        self._agent = agent
        self._reconnection = reconnection
        self._key = secrets.token_hex(8)
        self._numbers = itertools.count(1)
        self._started = False

    def send(self, body: bytes) -> None:
        """Send one message; returns when the server has it, has refused it, or is lost."""
        try:
            is_object, raw_id, has_method = envelopes.peek_thoroughly(body)
        except NotJson as error:
            self._owner.refused(b"", error_answer(b"null", f"not JSON: {error}", code=PARSE_ERROR))
            return
        if not is_object:
            text = "a message is one JSON object"
            self._owner.refused(b"", error_answer(b"null", text, code=INVALID_REQUEST))
            return
        raw_id = raw_id if has_method else b""
        if raw_id:
            self._owner.request_opened(raw_id)
        try:
            reply = self._post(body)
        except Unreachable as error:
            self._owner.lost(str(error))
            return
        if reply.ok and not self._started and _is_late_failure(reply):
            self._owner.refused(raw_id, reply.body)
        elif reply.ok:
            self._accepted(raw_id)
        elif self._started and (reply.kind == "agent_process_exited" or self._owner.instance_gone()):
            self._owner.lost(reply.reason, reply.problem or None)
        else:
            self._refused(raw_id, reply)

    def _post(self, body: bytes) -> Reply:
        """Post until the server has answered. Raises Unreachable if it does not in time."""
        headers = {**_HEADERS, "idempotency-key": f"{self._key}-{next(self._numbers)}"}
        path, timeout_s = self._path, _POST_TIMEOUT_S
        if self._started:
            headers["prefer"] = "respond-async"
        else:
            self._owner.about_to_start()
            path, timeout_s = f"{path}?agent={quote(self._agent, safe='')}", _START_TIMEOUT_S
        attempt = self._reconnection.attempt()
        while True:
            try:
                reply = self._connection.request("POST", path, body, headers, timeout_s=timeout_s)
            except Unreachable as error:
                attempt.failed(error)
                continue
            if _is_temporary(reply):
                attempt.failed(Unreachable(reply.reason))
                continue
            self._reconnection.reached = True
            return reply

    def _accepted(self, raw_id: bytes) -> None:
        if raw_id:
            self._owner.request_accepted(raw_id)
        if not self._started:
            self._started = True
            self._owner.started()

    def _refused(self, raw_id: bytes, reply: Reply) -> None:
        if raw_id:
            self._owner.refused(raw_id, error_answer(raw_id, reply.reason, reply.problem or None))
        else:
            print(f"sandbox-agent: a message was refused: {reply.reason}", file=sys.stderr)


def _is_late_failure(reply: Reply) -> bool:
    """Whether the body is an error of the server, which had to send the head of a 200 before it failed."""
    try:
        error = json.loads(reply.body)["error"]
        return str(error["data"]["type"]).startswith("urn:sandbox-agent:error:")
    except (ValueError, KeyError, TypeError):
        return False


def _is_temporary(reply: Reply) -> bool:
    """Whether a gateway answers for the server, or the server is about to stop."""
    if reply.kind:
        return reply.kind == "server_stopping"
    return reply.status in _GATEWAY
