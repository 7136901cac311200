"""The base class of providers: how a sandbox is created, reached and destroyed.

A provider hides what differs between a laptop, a test and a cloud sandbox. `LocalProvider` and
`AsgiProvider` are part of the SDK; others derive from `SandboxProvider`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import httpx


class SandboxProvider(ABC):
    """Runs servers in sandboxes. A subclass sets `name` and implements `create`, `destroy` and `get_url`."""

    name: str
    """The first part of `client.sandbox_id`."""
    default_cwd: str | None = None
    """The directory of sessions that name none; None asks the server for its home directory."""
    same_environment: bool = False
    """The server has the environment variables of this program."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    @abstractmethod
    async def create(self) -> str:
        """Make a sandbox with a server in it; return its id."""

    @abstractmethod
    async def destroy(self, sandbox_id: str) -> None:
        """Delete the sandbox."""

    @abstractmethod
    async def get_url(self, sandbox_id: str) -> str:
        """The base URL of the server in the sandbox."""

    def with_agents(self, tables: str) -> SandboxProvider:
        """A provider whose servers have further agents: tables of an agents.toml by id, as JSON.

        Raises `ValueError` if it has no way to give them to its servers.
        """
        raise ValueError(
            f"agents= works with a server on this machine; for {self.name!r} list them in the agents.toml of "
            "the sandbox (docs/custom-agents.md)"
        )

    async def reconnect(self, sandbox_id: str) -> None:  # noqa: B027 - optional
        """Prepare a sandbox made earlier for use; raise `SandboxDestroyedError` if it no longer exists."""

    async def ensure_server(self, sandbox_id: str) -> None:  # noqa: B027 - optional
        """Start the server in a sandbox made earlier if it does not run."""

    async def get_token(self, sandbox_id: str) -> str | None:
        """The server's token; None if it needs none."""
        return None

    async def get_transport(self, sandbox_id: str) -> httpx.AsyncBaseTransport | None:
        """The transport to a server that is not on the network; None for plain HTTP."""
        return None

    async def release(self, sandbox_id: str) -> None:
        """The client has closed: delete the sandbox, unless the provider is to leave it running."""
        await self.destroy(sandbox_id)

    def alive(self, sandbox_id: str) -> bool:
        """False only if the server is known to have ended: pending requests then fail at once."""
        return True

    async def pause(self, sandbox_id: str) -> None:
        """Pause the sandbox; a provider that cannot pause destroys it."""
        await self.destroy(sandbox_id)

    async def kill(self, sandbox_id: str) -> None:
        """End the sandbox without a graceful stop; by default the same as `destroy`."""
        await self.destroy(sandbox_id)
