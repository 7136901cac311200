"""An MCP client for the mock agent: starts the servers of a session and calls one of their tools."""

from __future__ import annotations

import json
import os
import subprocess
import threading

from sandbox_agent.agents.mock.jsonrpc_lines import Json

_CLIENT = {"name": "mock", "version": "1"}
_INITIALIZE: Json = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _CLIENT}


class McpConnection:
    """One MCP server on stdio."""

    def __init__(self, entry: Json) -> None:
        own = {one["name"]: one["value"] for one in entry.get("env") or ()}
        self._process = subprocess.Popen(  # noqa: S603 - the command is the configured one
            [entry["command"], *entry.get("args", ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **own},
        )
        self._last_id = 0

    def start(self) -> list[Json]:
        """The tools of the server."""
        self.request("initialize", _INITIALIZE)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        tools: list[Json] = self.request("tools/list", {})["tools"]
        return tools

    def request(self, method: str, params: Json) -> Json:
        """The result; raises `RuntimeError` for an error."""
        self._last_id += 1
        self._send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        for line in self._process.stdout or ():
            message = json.loads(line)
            if message.get("id") == self._last_id:
                if "error" in message:
                    raise RuntimeError(message["error"].get("message", "error"))
                result: Json = message["result"]
                return result
        raise RuntimeError("the MCP server has ended")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def _send(self, message: Json) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(message).encode() + b"\n")
            self._process.stdin.flush()


class ToolCall(threading.Thread):
    """Finds a tool among the servers and calls it; without a name it lists the tools."""

    def __init__(self, servers: list[Json], name: str, arguments: Json) -> None:
        super().__init__(daemon=True)
        self._entries = [entry for entry in servers if "command" in entry]
        self._name = name
        self._arguments = arguments
        self._open: list[McpConnection] = []
        self.result: Json | None = None
        self.failure = ""
        self.names: list[str] = []

    def run(self) -> None:
        try:
            for entry in self._entries:
                connection = McpConnection(entry)
                self._open.append(connection)
                found = [tool["name"] for tool in connection.start()]
                self.names += found
                if self._name in found:
                    params = {"name": self._name, "arguments": self._arguments}
                    self.result = connection.request("tools/call", params)
                    return
            self.failure = f"there is no tool {self._name}" if self._name else ""
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            self.failure = repr(error) if isinstance(error, KeyError) else str(error)

    def close(self) -> None:
        for connection in self._open:
            connection.close()
