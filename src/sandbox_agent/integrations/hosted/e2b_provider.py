"""E2B (package `e2b`). Not run against the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.integrations.hosted.hosted_provider import HostedProvider


class E2BProvider(HostedProvider):
    name = "e2b"

    def __init__(self, template: str, *, timeout_s: int = 3600, **options: Any) -> None:
        super().__init__(**options)
        self._template = template
        self._timeout_s = timeout_s

    async def _make(self, variables: Mapping[str, str]) -> tuple[str, Any]:
        from e2b import AsyncSandbox

        sandbox = await AsyncSandbox.create(self._template, timeout=self._timeout_s, envs=dict(variables))
        return sandbox.sandbox_id, sandbox

    async def _find(self, sandbox_id: str) -> Any:
        from e2b import AsyncSandbox

        return await AsyncSandbox.connect(sandbox_id, timeout=self._timeout_s)

    async def _run(self, sandbox: Any, command: str) -> None:
        await sandbox.commands.run(command, background=True, timeout=0)

    async def _address(self, sandbox: Any, port: int) -> str:
        return f"https://{sandbox.get_host(port)}"

    async def _delete(self, sandbox: Any) -> None:
        await sandbox.kill()

    async def pause(self, sandbox_id: str) -> None:
        if (sandbox := await self._forget(sandbox_id)) is not None:
            await sandbox.pause()
