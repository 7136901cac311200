"""Daytona (package `daytona`). Not run against the service."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sandbox_agent.integrations.hosted.hosted_provider import HostedProvider


class DaytonaProvider(HostedProvider):
    name = "daytona"

    def __init__(self, image: str, *, address_s: int = 24 * 3600, **options: Any) -> None:
        """`address_s` is how long the address of the server is valid; without it, the service says 60 s."""
        super().__init__(**options)
        self._image = image
        self._address_s = address_s
        self._client: Any = None

    def _daytona(self) -> Any:
        from daytona import AsyncDaytona

        self._client = self._client or AsyncDaytona()
        return self._client

    async def _make(self, variables: Mapping[str, str]) -> tuple[str, Any]:
        from daytona import CreateSandboxFromImageParams

        wanted = CreateSandboxFromImageParams(image=self._image, env_vars=dict(variables))
        sandbox = await self._daytona().create(wanted)
        return sandbox.id, sandbox

    async def _find(self, sandbox_id: str) -> Any:
        return await self._daytona().get(sandbox_id)

    async def _run(self, sandbox: Any, command: str) -> None:
        # `exec` waits for the command, so a shell puts it into the background.
        await sandbox.process.exec(f"nohup sh -c {shlex.quote(command)} >/tmp/sandbox-agent.log 2>&1 &")

    async def _address(self, sandbox: Any, port: int) -> str:
        signed = await sandbox.create_signed_preview_url(port, expires_in_seconds=self._address_s)
        return str(signed.url)

    async def _delete(self, sandbox: Any) -> None:
        await sandbox.delete()
