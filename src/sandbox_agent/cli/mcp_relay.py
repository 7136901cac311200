"""`sandbox-agent mcp-relay`: an MCP server on stdio whose tools are those of a client of the server.

Every line of the agent is posted to the relay of its session, and the client's answer is printed. Standard
library only: the agent waits for the start of this command. Without a client, a call of a tool has an error
as its result, so the model can go on.
"""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
from typing import Any
from urllib.parse import urlsplit

from sandbox_agent.jsonrpc_error_codes import MCP_CONNECTION_CLOSED

URL_VARIABLE = "SANDBOX_AGENT_RELAY_URL"
TICKET_VARIABLE = "SANDBOX_AGENT_RELAY_TICKET"


class Relay:
    """Passes messages on; calls run at the same time, each on a connection of its own."""

    def __init__(self, url: str, ticket: str) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._address = parts.netloc
        self._path = parts.path
        self._headers = {"authorization": f"Bearer {ticket}", "content-type": "application/json"}
        if not self._secure:
            # The server may check the name under which it is addressed.
            self._headers["host"] = "localhost"
        self._output = threading.Lock()

    def run(self) -> int:
        """Relay until the agent closes stdin."""
        for line in sys.stdin.buffer:
            message = _parse(line)
            if message is None:
                continue
            is_call = "id" in message and "method" in message
            # A thread for each: a tool may take long, and others are called meanwhile.
            threading.Thread(target=self._pass_on, args=(line, message, is_call), daemon=True).start()
        return 0

    def _pass_on(self, line: bytes, message: dict[str, Any], is_call: bool) -> None:
        try:
            answer = self._post(line, {} if is_call else {"prefer": "respond-async"})
        except (OSError, http.client.HTTPException, RelayError) as error:
            answer = _failure(message, str(error))
        if is_call and answer:
            with self._output:
                sys.stdout.buffer.write(answer.replace(b"\n", b" ") + b"\n")
                sys.stdout.buffer.flush()

    def _post(self, body: bytes, headers: dict[str, str]) -> bytes:
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(self._address)
        try:
            connection.request("POST", self._path, body, {**self._headers, **headers})
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.status >= 300:
            raise RelayError(_problem(content) or f"HTTP status {response.status}")
        return content


class RelayError(Exception):
    """The server or the client has refused the call."""


def _failure(message: dict[str, Any], reason: str) -> bytes:
    """The answer to a call that no client has answered."""
    text = f"the tool is not available: {reason}"
    answer: dict[str, Any] = {"jsonrpc": "2.0", "id": message.get("id")}
    if message.get("method") == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": text}], "isError": True}
    else:
        answer["error"] = {"code": MCP_CONNECTION_CLOSED, "message": text}
    return json.dumps(answer).encode()


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, dict) else None


def _problem(content: bytes) -> str:
    problem = _parse(content) or {}
    return str(problem.get("detail") or problem.get("title") or "")


def main() -> int:
    """Relay with the address and the ticket of the environment."""
    url, ticket = os.environ.get(URL_VARIABLE), os.environ.get(TICKET_VARIABLE)
    if not url or not ticket:
        print(f"sandbox-agent mcp-relay: {URL_VARIABLE} and {TICKET_VARIABLE} are not set", file=sys.stderr)
        return 2
    return Relay(url, ticket).run()
