"""Renews the lease of a server as long as its client is open, also while the client sends no requests."""

from __future__ import annotations

import asyncio
import logging

from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.transport.http_api import HttpApi

log = logging.getLogger("sandbox_agent")

DEFAULT_LEASE_S = 600
"""How long a sandbox outlives a client that was killed."""
_RENEWALS_PER_LEASE = 4


class LeaseKeeper:
    """Sends a small request several times per lease, from its creation to `stop`."""

    def __init__(self, url: str, token: str | None, lease_s: float) -> None:
        self._api = HttpApi(url, token=token, timeout=lease_s / _RENEWALS_PER_LEASE, max_retries=0)
        self._interval_s = lease_s / _RENEWALS_PER_LEASE
        self._task = asyncio.create_task(self._renew(), name=f"lease of {url}")

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            try:
                await self._api.request("GET", "/v1/acp")
            except SandboxAgentError as error:
                log.debug("the lease was not renewed: %s", error)

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])
        await self._api.aclose()
