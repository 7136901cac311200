"""The base class of providers for hosted sandboxes: create one, start the server, find its address, end it.

A service needs five calls: make a sandbox with variables, start a command in it, tell the address of a port,
find a sandbox again by its id, delete it. The image or template of the service must have `sandbox-agent`.
"""

from __future__ import annotations

import secrets
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.default_address import DEFAULT_PORT
from sandbox_agent.sdk.errors import SandboxDestroyedError
from sandbox_agent.sdk.providers.lease_keeper import DEFAULT_LEASE_S, LeaseKeeper
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider


@dataclass(frozen=True, slots=True)
class _HostedSandbox:
    """What this process knows of a sandbox."""

    sandbox: Any
    """The object of the service."""
    url: str
    keeper: LeaseKeeper | None


class HostedProvider(SandboxProvider):
    """A subclass implements the calls of one service with its own package."""

    def __init__(
        self,
        *,
        env: Mapping[str, str] | None = None,
        token: str | None = None,
        lease_s: int = DEFAULT_LEASE_S,
        port: int = DEFAULT_PORT,
    ) -> None:
        """`token` is the server's; give one to reconnect from another process. `lease_s=0`: no lease."""
        self._variables = dict(env or {})
        self._token = token or secrets.token_hex(24)
        self._lease_s = lease_s
        self._port = port
        self._sandboxes: dict[str, _HostedSandbox] = {}

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
        try:
            await self._run(sandbox, f"sandbox-agent server --host 0.0.0.0 --port {self._port}")
            await self._open(sandbox_id, sandbox)
        except BaseException:
            await self._delete(sandbox)
            raise
        return sandbox_id

    async def reconnect(self, sandbox_id: str) -> None:
        if sandbox_id not in self._sandboxes:
            try:
                sandbox = await self._find(sandbox_id)
            except Exception as error:
                raise SandboxDestroyedError(sandbox_id, self.name) from error
            await self._open(sandbox_id, sandbox)

    async def _open(self, sandbox_id: str, sandbox: Any) -> None:
        url = await self._address(sandbox, self._port)
        keeper = LeaseKeeper(url, self._token, self._lease_s) if self._lease_s else None
        self._sandboxes[sandbox_id] = _HostedSandbox(sandbox, url, keeper)

    async def destroy(self, sandbox_id: str) -> None:
        if (sandbox := await self._forget(sandbox_id)) is not None:
            await self._delete(sandbox)

    async def _forget(self, sandbox_id: str) -> Any:
        """The object of the service, whose lease is no longer renewed; None if this provider has none."""
        found = self._sandboxes.pop(sandbox_id, None)
        if found is None:
            return None
        if found.keeper is not None:
            await found.keeper.stop()
        return found.sandbox

    async def get_url(self, sandbox_id: str) -> str:
        return self._sandboxes[sandbox_id].url

    async def get_token(self, sandbox_id: str) -> str | None:
        return self._token
