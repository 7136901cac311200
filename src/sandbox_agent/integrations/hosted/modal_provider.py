"""Modal (package `modal`). Not run against the service."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sandbox_agent.integrations.hosted.hosted_provider import HostedProvider


class ModalProvider(HostedProvider):
    name = "modal"

    def __init__(self, image: Any, *, app: Any, timeout_s: int = 3600, **options: Any) -> None:
        """`image` and `app` are objects of Modal."""
        super().__init__(**options)
        self._image = image
        self._app = app
        self._timeout_s = timeout_s

    async def _make(self, variables: Mapping[str, str]) -> tuple[str, Any]:
        import modal

        sandbox = await modal.Sandbox.create.aio(
            app=self._app,
            image=self._image,
            timeout=self._timeout_s,
            encrypted_ports=[self._port],
            secrets=[modal.Secret.from_dict(dict(variables))],
        )
        return sandbox.object_id, sandbox

    async def _find(self, sandbox_id: str) -> Any:
        import modal

        return await modal.Sandbox.from_id.aio(sandbox_id)

    async def _run(self, sandbox: Any, command: str) -> None:
        await sandbox.exec.aio("sh", "-c", command)

    async def _address(self, sandbox: Any, port: int) -> str:
        return str((await sandbox.tunnels.aio())[port].url)

    async def _delete(self, sandbox: Any) -> None:
        await sandbox.terminate.aio()
