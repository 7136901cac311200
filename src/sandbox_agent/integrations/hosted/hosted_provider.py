"""The base of providers for hosted sandboxes: make, run the server, find its address, end.

A service needs five calls: make a sandbox with variables, start a command in it, tell the address of a port,
find a sandbox again by its id, delete it. The image or template of the service must have `sandbox-agent`.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from sandbox_agent.sdk.errors import SandboxDestroyedError
from sandbox_agent.sdk.providers.lease_keeper import DEFAULT_LEASE_S
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider

PORT = 2468


class HostedProvider(SandboxProvider):
    """A subclass implements the calls of one service with its own package."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        token: str | None = None,
        lease_s: int = DEFAULT_LEASE_S,
        port: int = PORT,
    ) -> None:
        """`token` is the server's; give one to reconnect from another process. `lease_s=0`: no lease."""
        self._variables = dict(env or {})
        self._token = token or secrets.token_hex(24)
        self._lease_s = lease_s
        self._port = port
        self._sandboxes: dict[str, Any] = {}

    @abstractmethod
    async def _make(self, variables: Mapping[str, str]) -> tuple[str, Any]:
        """A new sandbox: its id and the object of the service."""

    @abstractmethod
    async def _find(self, sandbox_id: str) -> Any:
        """A sandbox made earlier. Raises what the service raises if there is none."""

    @abstractmethod
    async def _run(self, sandbox: Any, command: str) -> None:
        """Start a command that goes on running."""

    @abstractmethod
    async def _address(self, sandbox: Any, port: int) -> str:
        """The URL of a port of the sandbox."""

    @abstractmethod
    async def _delete(self, sandbox: Any) -> None: ...

    async def create(self) -> str:
        own = {"SANDBOX_AGENT_TOKEN": self._token, "SANDBOX_AGENT_LEASE_S": str(self._lease_s)}
        sandbox_id, sandbox = await self._make({**self._variables, **own})
        self._sandboxes[sandbox_id] = sandbox
        try:
            await self._run(sandbox, f"sandbox-agent server --host 0.0.0.0 --port {self._port}")
        except BaseException:
            await self.destroy(sandbox_id)
            raise
        return sandbox_id

    async def reconnect(self, sandbox_id: str) -> None:
        if sandbox_id not in self._sandboxes:
            try:
                self._sandboxes[sandbox_id] = await self._find(sandbox_id)
            except Exception as error:
                raise SandboxDestroyedError(sandbox_id, self.name) from error

    async def destroy(self, sandbox_id: str) -> None:
        if (sandbox := self._sandboxes.pop(sandbox_id, None)) is not None:
            await self._delete(sandbox)

    async def get_url(self, sandbox_id: str) -> str:
        return await self._address(self._sandboxes[sandbox_id], self._port)

    async def get_token(self, sandbox_id: str) -> str | None:
        return self._token
