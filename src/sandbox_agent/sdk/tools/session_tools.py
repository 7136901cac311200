"""The tools of one session: offered to the agent when a session is opened in it, closed with the session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sandbox_agent.sdk.errors import NotFoundError, ToolsUnavailableError
from sandbox_agent.sdk.tools.mcp_server import McpServer
from sandbox_agent.sdk.tools.tool import Tool, ToolFunction, as_tools
from sandbox_agent.sdk.tools.tool_relay_client import ToolRelayClient
from sandbox_agent.sdk.transport.http_api import HttpApi

SERVER_NAME = "client"
"""The name of the MCP server that agents see; Claude calls a tool `mcp__client__NAME`."""

TICKET_VARIABLE = "SANDBOX_AGENT_RELAY_TICKET"


class SessionTools:
    """Relays the calls of one session; without tools it does nothing."""

    def __init__(self, api: HttpApi, session_id: str) -> None:
        self._api = api
        self._relay_id = f"py-tools-{session_id}"
        self._tools = as_tools(())
        self._relay: ToolRelayClient | None = None
        self._entry: dict[str, Any] | None = None

    @property
    def functions(self) -> tuple[Tool, ...]:
        """The tools that are offered."""
        return self._tools

    def use(self, tools: Iterable[ToolFunction]) -> None:
        """Offer these tools from the next opening on."""
        self._tools = as_tools(tools)

    async def provide(self, server_id: str) -> None:
        """Open a relay for this instance, before its agent opens the session."""
        await self.close()
        if not self._tools:
            return
        if self._api.is_in_process:
            raise ToolsUnavailableError("a server inside this process, as asgi() makes it, has no address")
        self._relay = ToolRelayClient(self._api, self._relay_id, McpServer(self._tools))
        try:
            info = await self._relay.open(server_id)
        except NotFoundError as error:
            raise ToolsUnavailableError(f"the server has no tool relays: {error}") from error
        self._entry = _mcp_entry(info, self._api.base_url)

    def with_server(self, params: Mapping[str, Any], *, ticket: bool = True) -> Mapping[str, Any]:
        """The parameters that open a session, with the MCP server of the tools.

        The history is stored without the ticket, which lets its holder call the tools.
        """
        if self._entry is None:
            return params
        entry = self._entry
        if not ticket:
            kept = [one for one in entry["env"] if one["name"] != TICKET_VARIABLE]
            entry = {**entry, "env": kept}
        return {**params, "mcpServers": [*params.get("mcpServers", ()), entry]}

    async def close(self) -> None:
        """Stop answering; calls that wait become tool errors."""
        relay, self._relay, self._entry = self._relay, None, None
        if relay is not None:
            await relay.close()


def _mcp_entry(info: Mapping[str, Any], base_url: str) -> dict[str, Any]:
    program, *arguments = info["command"]
    variables = {
        "SANDBOX_AGENT_RELAY_URL": (info.get("url") or base_url) + info["path"],
        TICKET_VARIABLE: info["ticket"],
    }
    environment = [{"name": name, "value": value} for name, value in variables.items()]
    return {"name": SERVER_NAME, "command": program, "args": arguments, "env": environment}
