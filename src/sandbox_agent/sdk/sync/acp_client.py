"""ACP itself, from code without an event loop."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from sandbox_agent.sdk.json_rpc import Envelope
from sandbox_agent.sdk.resources.acp_client import AsyncAcpClient
from sandbox_agent.sdk.sync.portal import Portal


class AcpClient:
    """One agent process, spoken to in ACP; get it from `client.acp.connect()`."""

    def __init__(self, portal: Portal, client: AsyncAcpClient) -> None:
        self._portal = portal
        self._client = client

    @property
    def server_id(self) -> str:
        return self._client.server_id

    @property
    def init_result(self) -> dict[str, Any]:
        """The agent's answer to `initialize`."""
        return self._client.init_result

    def request(
        self, method: str, params: Mapping[str, Any] | None = None, *, timeout: float | None = None
    ) -> Any:
        """Send a request and return its result; raises what went wrong, typed."""
        return self._portal.run(self._client.request(method, params, timeout=timeout))

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send a notification; it has reached the agent when this returns."""
        self._portal.run(self._client.notify(method, params))

    def respond(self, request_id: Any, result: Any = None, *, error: Mapping[str, Any] | None = None) -> None:
        """Answer a request of the agent, with a result or a JSON-RPC error."""
        self._portal.run(self._client.respond(request_id, result, error=error))

    def messages(self) -> Iterator[Envelope]:
        """Everything the agent says, from the first message on; ends with an error when the agent does."""
        return self._portal.iterate(self._client.messages)

    def close(self, *, keep_running: bool = False) -> None:
        """Stop reading; the agent process ends unless it is to be kept running."""
        self._portal.run(self._client.aclose(keep_running=keep_running))

    def __enter__(self) -> AcpClient:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
