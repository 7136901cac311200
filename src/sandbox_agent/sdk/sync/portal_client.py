"""The part of `SandboxAgent` that is not generated: it owns the portal."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.sync.portal import Portal


class PortalClient:
    """Starts the portal with the client and closes it with the client."""

    _portal: Portal
    _async: AsyncSandboxAgent

    def _open(self, make: Callable[[], AsyncSandboxAgent | Awaitable[AsyncSandboxAgent]]) -> None:
        portal = Portal()

        async def made() -> AsyncSandboxAgent:
            client = make()
            return await client if inspect.isawaitable(client) else client

        try:
            client = portal.run(made())
        except BaseException:
            portal.close()
            raise
        self._attach(portal, client)

    def _attach(self, portal: Portal, wrapped: AsyncSandboxAgent) -> None:
        self._portal = portal
        self._async = wrapped

    def _end(self, ending: Callable[[], Awaitable[None]]) -> None:
        if self._portal.closed:
            return

        async def ended() -> None:
            await ending()

        try:
            self._portal.run(ended())
        finally:
            if self._async.is_closed:
                self._portal.close()
