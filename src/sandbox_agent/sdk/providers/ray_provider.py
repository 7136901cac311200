"""Sandboxes on a Ray cluster: Ray chooses the node, and an inner provider makes the sandbox there.

One actor holds one sandbox of the inner provider on its node. The client talks to the server directly, over
TCP to the node's address. When the node or the actor is lost, the sandbox is gone: `SandboxDestroyedError`.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox_agent.sdk.errors import SandboxDestroyedError, SandboxProviderError
from sandbox_agent.sdk.providers.local_provider import LocalProvider
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions

NAMESPACE = "sandbox-agent"
InnerProvider = Callable[[str], SandboxProvider]


def local_on_node(address: str) -> SandboxProvider:
    """A server process on the node, which listens on the node's address."""
    return LocalProvider(SpawnOptions(host=address))


class SandboxActor:
    """Runs in a worker of Ray: one sandbox of the inner provider."""

    def __init__(self, make_provider: InnerProvider) -> None:
        import ray

        self._provider = make_provider(ray.util.get_node_ip_address())
        self._key = ""

    async def start(self) -> tuple[str, str | None]:
        """The address and token of the sandbox, which is made with the first call."""
        if not self._key:
            self._key = await self._provider.create()
        return await self._provider.get_url(self._key), await self._provider.get_token(self._key)

    async def wait(self) -> None:
        """Never returns; it fails when the actor is lost."""
        await asyncio.Event().wait()

    async def stop(self) -> None:
        key, self._key = self._key, ""
        if key:
            await self._provider.destroy(key)


@dataclass(slots=True)
class _RaySandbox:
    actor: Any
    url: str
    token: str | None
    watch: asyncio.Future[None]


class RayProvider(SandboxProvider):
    """Live sandboxes on the nodes of a cluster; `ray.init` must have been called, or a cluster must be found.

    `inner` is a picklable function from the node's address to a provider, such as
    `lambda address: docker("image", publish_address=address)`. `actor_options` are those of Ray, such as
    `{"num_cpus": 1}`. Detached sandboxes outlive this program and are found again by their id.
    """

    name = "ray"

    def __init__(
        self,
        inner: InnerProvider = local_on_node,
        *,
        detached: bool = False,
        actor_options: Mapping[str, Any] | None = None,
        start_timeout_s: float = 120.0,
    ) -> None:
        self._inner = inner
        self._detached = detached
        self._actor_options = dict(actor_options or {})
        self._start_timeout_s = start_timeout_s
        self._sandboxes: dict[str, _RaySandbox] = {}

    async def create(self) -> str:
        ray = self._ray()
        name = secrets.token_hex(8)
        lifetime = "detached" if self._detached else "non_detached"
        options = {"num_cpus": 0, **self._actor_options, "name": name, "namespace": NAMESPACE}
        actor = ray.remote(**options, lifetime=lifetime, max_restarts=0)(SandboxActor).remote(self._inner)
        try:
            await self._open(name, actor)
        except BaseException:
            ray.kill(actor)
            raise
        return name

    async def reconnect(self, sandbox_id: str) -> None:
        ray = self._ray()
        if sandbox_id in self._sandboxes and self.alive(sandbox_id):
            return
        try:
            actor = ray.get_actor(sandbox_id, namespace=NAMESPACE)
        except ValueError:
            raise SandboxDestroyedError(sandbox_id, self.name) from None
        await self._open(sandbox_id, actor)

    async def _open(self, name: str, actor: Any) -> None:
        from ray.exceptions import RayActorError, RayTaskError

        try:
            async with asyncio.timeout(self._start_timeout_s):
                url, token = await asyncio.wrap_future(actor.start.remote().future())
        except RayActorError as error:
            raise SandboxDestroyedError(name, self.name) from error
        except RayTaskError as error:
            raise SandboxProviderError(self.name, str(error.cause)) from error
        except TimeoutError:
            text = f"no sandbox within {self._start_timeout_s:g} s; the cluster may have no room"
            raise SandboxProviderError(self.name, text) from None
        watch = asyncio.wrap_future(actor.wait.remote().future())
        # Its failure is the message; without this, asyncio would report that it was not read.
        watch.add_done_callback(lambda done: done.cancelled() or done.exception())
        self._sandboxes[name] = _RaySandbox(actor, url, token, watch)

    async def get_url(self, sandbox_id: str) -> str:
        return self._sandboxes[sandbox_id].url

    async def get_token(self, sandbox_id: str) -> str | None:
        return self._sandboxes[sandbox_id].token

    def alive(self, sandbox_id: str) -> bool:
        sandbox = self._sandboxes.get(sandbox_id)
        return sandbox is not None and not sandbox.watch.done()

    async def release(self, sandbox_id: str) -> None:
        if self._detached:
            self._forget(sandbox_id)
        else:
            await self.destroy(sandbox_id)

    async def destroy(self, sandbox_id: str) -> None:
        from ray.exceptions import RayError

        ray = self._ray()
        sandbox = self._forget(sandbox_id)
        if sandbox is None:
            return
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await asyncio.wrap_future(sandbox.actor.stop.remote().future())
        except (RayError, TimeoutError):
            pass  # The node is gone, and the sandbox with it or with its lease.
        ray.kill(sandbox.actor)

    def _forget(self, sandbox_id: str) -> _RaySandbox | None:
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is not None:
            sandbox.watch.cancel()
        return sandbox

    @staticmethod
    def _ray() -> Any:
        try:
            import ray
        except ImportError as error:
            raise SandboxProviderError(
                "ray", "the package is missing: pip install sandbox-agent[ray]"
            ) from error
        if not ray.is_initialized():
            ray.init(address="auto", log_to_driver=False)
        return ray
