"""The MCP servers of a session, in a form that each adapter translates into its program's configuration."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from acp.schema import HttpMcpServer, McpServerStdio, SseMcpServer

from sandbox_agent.agents.adapters.common import adapter_errors


@dataclass(frozen=True, slots=True)
class StdioMcpServer:
    name: str
    command: str
    args: list[str]
    env: dict[str, str]

    def command_config(self) -> dict[str, Any]:
        """The form that Claude, Codex and Amp share."""
        return {"command": self.command, "args": self.args, "env": self.env}


@dataclass(frozen=True, slots=True)
class RemoteMcpServer:
    name: str
    type: str
    """`http` or `sse`."""
    url: str
    headers: dict[str, str]


McpServer = StdioMcpServer | RemoteMcpServer


def read_mcp_servers(servers: Iterable[Any] | None, agent: str) -> list[McpServer]:
    """The `mcpServers` of a request; raises a `RequestError` for a kind that programs cannot use."""
    return [_read(server, agent) for server in servers or ()]


def _read(server: Any, agent: str) -> McpServer:
    if isinstance(server, McpServerStdio):
        env = {variable.name: variable.value for variable in server.env}
        return StdioMcpServer(server.name, server.command, list(server.args), env)
    if isinstance(server, HttpMcpServer | SseMcpServer):
        headers = {header.name: header.value for header in server.headers}
        return RemoteMcpServer(server.name, server.type, server.url, headers)
    raise adapter_errors.invalid_params(f"an MCP server of this kind cannot be passed on to {agent}")
