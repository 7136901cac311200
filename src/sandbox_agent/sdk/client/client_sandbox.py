"""The sandbox that a client was started with: made or found by its provider, ended with the client."""

from __future__ import annotations

from typing import Literal, Self

from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider

SandboxEnd = Literal["release", "destroy", "pause", "kill"]
"""The method of the provider that is called when the client closes."""


class ClientSandbox:
    """One sandbox of a provider, in use by one client."""

    def __init__(self, provider: SandboxProvider, key: str, *, made: bool) -> None:
        self.provider = provider
        self.key = key
        self.end_by: SandboxEnd = "release"
        self._made = made

    @classmethod
    async def open(cls, provider: SandboxProvider, sandbox_id: str | None) -> Self:
        """A new sandbox, or the one with this id, made earlier."""
        if sandbox_id is None:
            return cls(provider, await provider.create(), made=True)
        key = sandbox_id.partition("/")[2]
        await provider.reconnect(key)
        await provider.ensure_server(key)
        return cls(provider, key, made=False)

    @property
    def id(self) -> str:
        """`provider/id`, for `start(sandbox_id=...)`."""
        return f"{self.provider.name}/{self.key}"

    def alive(self) -> bool:
        """False only if the server is known to have ended."""
        return self.provider.alive(self.key)

    async def end(self) -> None:
        """The client has closed."""
        if self.end_by == "destroy":
            await self.provider.destroy(self.key)
        elif self.end_by == "pause":
            await self.provider.pause(self.key)
        elif self.end_by == "kill":
            await self.provider.kill(self.key)
        else:
            await self.provider.release(self.key)

    async def give_up(self) -> None:
        """No client could be made: delete the sandbox, unless it was made earlier."""
        if self._made:
            await self.provider.destroy(self.key)
