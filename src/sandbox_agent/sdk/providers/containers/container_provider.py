"""The provider that runs each server in a container; `docker()` and `podman()` make it.

The name of the container is the id of the sandbox, so any process that reaches the engine can reconnect. The
token is read from the container's environment. A container whose client was killed ends with its lease, and
the engine removes it then; `sweep` removes what was created but never started.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Unpack

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.default_address import DEFAULT_PORT
from sandbox_agent.sdk.errors import SandboxDestroyedError, SandboxProviderError, SpawnError
from sandbox_agent.sdk.providers.containers.container_options import (
    BUNDLE_PATH,
    LABEL,
    LEASE_VARIABLE,
    TOKEN_VARIABLE,
    ContainerOptions,
)
from sandbox_agent.sdk.providers.containers.container_output import ContainerOutput
from sandbox_agent.sdk.providers.containers.engine_api import EngineAddress, EngineApi
from sandbox_agent.sdk.providers.containers.option_names import ContainerOptionNames
from sandbox_agent.sdk.providers.free_port import free_port
from sandbox_agent.sdk.providers.lease_keeper import LeaseKeeper
from sandbox_agent.sdk.providers.sandbox_provider import SandboxProvider
from sandbox_agent.sdk.providers.server_health import is_healthy
from sandbox_agent.sdk.transport.http_api import HttpApi

_POLL_S = 0.03
# A container that another client is about to start is younger than this.
_SWEEP_AFTER_S = 600.0


@dataclass(slots=True)
class _Container:
    """What this process knows of a running container."""

    url: str
    token: str
    output: ContainerOutput
    keeper: LeaseKeeper | None = None


class ContainerProvider(SandboxProvider):
    """Servers in containers of one engine."""

    def __init__(self, engine: EngineAddress, options: ContainerOptions) -> None:
        self.name = engine.name
        self.options = options
        self.default_cwd = options.workdir
        self._api = EngineApi(engine)
        self._sandboxes: dict[str, _Container] = {}

    def __getstate__(self) -> dict[str, Any]:
        """A copy in another process makes and finds sandboxes, but has none open."""
        return {**self.__dict__, "_sandboxes": {}}

    async def create(self) -> str:
        options = self.options
        name = f"sandbox-agent-{secrets.token_hex(8)}"
        port = free_port("127.0.0.1") if options.network == "host" else DEFAULT_PORT
        try:
            await self._create_container(name, options.body(secrets.token_hex(24), port))
            await self._start(name)
        except BaseException:
            await asyncio.shield(self.destroy(name))
            raise
        return name

    async def _create_container(self, name: str, body: dict[str, Any]) -> None:
        archive = self._bundle_archive()
        try:
            await self._api.call("POST", "/containers/create", query={"name": name}, json=body)
        except SandboxProviderError as error:
            if error.status != 404:
                raise
            if not self.options.pull:
                text = f"the engine has no image {self.options.image!r}; pull or build it, or pass pull=True"
                raise SandboxProviderError(self.name, text, status=404) from error
            await self._pull(self.options.image)
            await self._api.call("POST", "/containers/create", query={"name": name}, json=body)
        if archive is not None:
            content = await asyncio.to_thread(archive.read_bytes)
            query = {"path": str(PurePosixPath(BUNDLE_PATH).parent)}
            await self._api.call("PUT", f"/containers/{name}/archive", query=query, content=content)

    def _bundle_archive(self) -> Path | None:
        """The bundle if it has to be copied into the container; one that is a directory is mounted."""
        if (path := self.options.bundle_path) is None:
            return None
        bundle = Path(path)
        if not bundle.exists():
            raise SandboxProviderError(self.name, f"there is no bundle at {path}; `scripts/build` makes it")
        return bundle if bundle.is_file() else None

    async def _pull(self, image: str) -> None:
        reference = image if ":" in image.rpartition("/")[2] or "@" in image else f"{image}:latest"
        async with self._api.stream("POST", "/images/create", {"fromImage": reference}) as chunks:
            report = b"".join([chunk async for chunk in chunks])
        # The status is 200 in any case; the last line says how it ended.
        for line in report.splitlines():
            if line.strip() and "error" in (entry := json_codec.decode(line)):
                raise SandboxProviderError(self.name, f"pulling {image}: {entry['error']}")

    async def _start(self, name: str) -> None:
        output = ContainerOutput(self._api, name)
        try:
            await self._api.call("POST", f"/containers/{name}/start", accepted=(304,))
            await self._open(name, output)
        except BaseException:
            await output.stop()
            raise

    async def _open(self, name: str, output: ContainerOutput) -> None:
        """Wait until the server in a running container is healthy, and keep its lease."""
        facts = await self._inspect(name)
        environment = dict(entry.partition("=")[::2] for entry in facts["Config"]["Env"])
        token = environment.get(TOKEN_VARIABLE, "")
        url = self._url(facts)
        await self._until_healthy(url, token, output)
        lease_s = int(environment.get(LEASE_VARIABLE) or 0)
        keeper = LeaseKeeper(url, token, lease_s) if lease_s else None
        self._sandboxes[name] = _Container(url, token, output, keeper)

    async def _until_healthy(self, url: str, token: str, output: ContainerOutput) -> None:
        api = HttpApi(url, token=token, timeout=2.0, max_retries=0)
        limit_s = self.options.start_timeout_s
        try:
            async with asyncio.timeout(limit_s):
                while not await is_healthy(api):
                    if output.ended:
                        raise SpawnError("the server in the container ended", stderr_tail=output.tail())
                    await asyncio.sleep(_POLL_S)
        except TimeoutError:
            text = f"the server in the container did not answer within {limit_s:g} s"
            raise SpawnError(text, stderr_tail=output.tail()) from None
        finally:
            await api.aclose()

    async def _inspect(self, name: str) -> Any:
        facts = await self._api.call("GET", f"/containers/{name}/json", accepted=(404,))
        if facts is None:
            raise SandboxDestroyedError(name, self.name)
        return facts

    def _url(self, facts: Any) -> str:
        if self.options.network == "host":
            command = facts["Config"]["Cmd"]
            return f"http://127.0.0.1:{command[command.index('--port') + 1]}"
        settings = facts["NetworkSettings"]
        if self.options.by_address:
            networks = (settings.get("Networks") or {}).values()
            addresses = [network["IPAddress"] for network in networks if network.get("IPAddress")]
            return f"http://{addresses[0]}:{DEFAULT_PORT}"
        published = (settings["Ports"].get(f"{DEFAULT_PORT}/tcp") or [{}])[0]
        if "HostPort" not in published:
            raise SandboxProviderError(self.name, "the engine has not published the server's port")
        everywhere = self.options.publish_address in ("0.0.0.0", "127.0.0.1")  # noqa: S104 - not to listen on
        host = self._api.address.host if everywhere else self.options.publish_address
        return f"http://{host}:{published['HostPort']}"

    async def reconnect(self, sandbox_id: str) -> None:
        facts = await self._inspect(sandbox_id)
        if facts["State"].get("Paused"):
            await self._api.call("POST", f"/containers/{sandbox_id}/unpause")

    async def ensure_server(self, sandbox_id: str) -> None:
        if sandbox_id not in self._sandboxes:
            await self._start(sandbox_id)

    async def get_url(self, sandbox_id: str) -> str:
        return self._sandboxes[sandbox_id].url

    async def get_token(self, sandbox_id: str) -> str | None:
        return self._sandboxes[sandbox_id].token

    def alive(self, sandbox_id: str) -> bool:
        sandbox = self._sandboxes.get(sandbox_id)
        return sandbox is not None and not sandbox.output.ended

    async def release(self, sandbox_id: str) -> None:
        if self.options.detached:
            await self._forget(sandbox_id)
        else:
            await self.destroy(sandbox_id)

    async def pause(self, sandbox_id: str) -> None:
        await self._forget(sandbox_id)
        await self._api.call("POST", f"/containers/{sandbox_id}/pause")

    async def destroy(self, sandbox_id: str) -> None:
        await self._forget(sandbox_id)
        # 409: it is being removed already.
        query = {"force": "true", "v": "true"}
        await self._api.call("DELETE", f"/containers/{sandbox_id}", query=query, accepted=(404, 409))

    async def sweep(self, *, running: bool = False, older_than_s: float = _SWEEP_AFTER_S) -> list[str]:
        """Remove containers of these providers that do not run, or with `running` all; returns their names.

        Only those with all `labels` of this provider, and none that is younger than `older_than_s`.
        """
        wanted = [f"{LABEL}=1", *(f"{key}={value}" for key, value in self.options.labels.items())]
        query = {"all": "true", "filters": json_codec.encode_text({"label": wanted})}
        removed = []
        for entry in await self._api.call("GET", "/containers/json", query=query):
            name = entry["Names"][0].lstrip("/")
            is_young = time.time() - entry["Created"] < older_than_s
            if is_young or (not running and entry["State"] in ("running", "paused")):
                continue
            await self.destroy(name)
            removed.append(name)
        return removed

    async def _forget(self, sandbox_id: str) -> None:
        sandbox = self._sandboxes.pop(sandbox_id, None)
        if sandbox is not None:
            if sandbox.keeper is not None:
                await sandbox.keeper.stop()
            await sandbox.output.stop()


def docker(
    image: str, *, engine: str | None = None, **options: Unpack[ContainerOptionNames]
) -> ContainerProvider:
    """Servers in containers of Docker; `engine` is its address, by default that of DOCKER_HOST."""
    return ContainerProvider(EngineAddress.find("docker", engine), ContainerOptions(image=image, **options))


def podman(
    image: str, *, engine: str | None = None, **options: Unpack[ContainerOptionNames]
) -> ContainerProvider:
    """Servers in containers of Podman, whose service must run: `podman system service --time 0`."""
    return ContainerProvider(EngineAddress.find("podman", engine), ContainerOptions(image=image, **options))
