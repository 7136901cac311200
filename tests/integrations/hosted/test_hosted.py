"""The contract of the adapters for hosted sandboxes, with fakes of the services that run the real server.

The fakes have the names and parameters of the services' packages; no service was used.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, SandboxDestroyedError
from sandbox_agent.integrations.hosted.daytona_provider import DaytonaProvider
from sandbox_agent.integrations.hosted.e2b_provider import E2BProvider
from sandbox_agent.integrations.hosted.hosted_provider import HostedProvider
from sandbox_agent.integrations.hosted.modal_provider import ModalProvider
from tests.support.server_process import free_port


def _start(words: list[str], environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(words, env=environment, start_new_session=True)


class FakeSandbox:
    """A sandbox of a service: a process of this machine with the variables it was made with."""

    known: dict[str, FakeSandbox] = {}  # noqa: RUF012 - what the service knows

    def __init__(self, variables: dict[str, str]) -> None:
        self.id = self.sandbox_id = self.object_id = f"box-{len(self.known)}"
        self.variables = variables
        self.processes: list[subprocess.Popen[bytes]] = []
        self.known[self.id] = self

    async def start(self, command: str) -> None:
        words = ["sh", "-c", command.replace("--host 0.0.0.0", "--host 127.0.0.1")]
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, **self.variables, "PATH": path}
        self.processes.append(_start(words, environment))

    async def end(self) -> None:
        self.known.pop(self.id, None)
        for process in self.processes:
            os.killpg(process.pid, 15)
            process.wait(10)

    @classmethod
    async def find(cls, sandbox_id: str) -> FakeSandbox:
        return cls.known[sandbox_id]


def aio(function: Callable[..., Any]) -> Any:
    return SimpleNamespace(aio=function)


def e2b_module() -> ModuleType:
    class AsyncSandbox(FakeSandbox):
        @classmethod
        async def create(cls, template: str, timeout: int, envs: dict[str, str]) -> AsyncSandbox:
            return cls(envs)

        @classmethod
        async def connect(cls, sandbox_id: str, timeout: int) -> FakeSandbox:
            assert timeout == 3600, "a sandbox that was paused would get the 300 s of the package"
            return await cls.find(sandbox_id)

        kill = FakeSandbox.end

        @property
        def commands(self) -> Any:
            async def run(command: str, background: bool, timeout: int) -> None:
                assert background
                await self.start(command)

            return SimpleNamespace(run=run)

        def get_host(self, port: int) -> str:
            return f"127.0.0.1:{port}"

    module = ModuleType("e2b")
    module.AsyncSandbox = AsyncSandbox  # type: ignore[attr-defined]
    return module


def daytona_module() -> ModuleType:
    class Sandbox(FakeSandbox):
        delete = FakeSandbox.end

        @property
        def process(self) -> Any:
            return SimpleNamespace(exec=self.start)

        async def create_signed_preview_url(self, port: int, expires_in_seconds: int = 60) -> Any:
            assert expires_in_seconds == 24 * 3600, "the client uses the address as long as it lives"
            return SimpleNamespace(url=f"http://127.0.0.1:{port}")

    class AsyncDaytona:
        async def create(self, wanted: Any) -> Sandbox:
            return Sandbox(wanted.env_vars)

        get = staticmethod(FakeSandbox.find)

    module = ModuleType("daytona")
    module.AsyncDaytona = AsyncDaytona  # type: ignore[attr-defined]
    module.CreateSandboxFromImageParams = SimpleNamespace  # type: ignore[attr-defined]
    return module


def modal_module() -> ModuleType:
    async def create(
        *,
        app: Any,
        image: Any,
        timeout: int,
        encrypted_ports: list[int],
        secrets: list[Any],
    ) -> Any:
        box: Any = FakeSandbox(secrets[0])

        async def run(*words: str) -> None:
            await box.start(words[-1])

        async def tunnels() -> dict[int, Any]:
            return {port: SimpleNamespace(url=f"http://127.0.0.1:{port}") for port in encrypted_ports}

        box.exec, box.tunnels, box.terminate = aio(run), aio(tunnels), aio(box.end)
        return box

    module = ModuleType("modal")
    module.Sandbox = SimpleNamespace(create=aio(create), from_id=aio(FakeSandbox.find))  # type: ignore[attr-defined]
    module.Secret = SimpleNamespace(from_dict=dict)  # type: ignore[attr-defined]
    return module


class PlainE2B(E2BProvider):
    """The fake has no TLS."""

    async def _address(self, sandbox: Any, port: int) -> str:
        return (await super()._address(sandbox, port)).replace("https://", "http://")


SERVICES: dict[str, tuple[Callable[[], ModuleType], Callable[..., HostedProvider]]] = {
    "e2b": (e2b_module, lambda **options: PlainE2B("template", **options)),
    "daytona": (daytona_module, lambda **options: DaytonaProvider("image", **options)),
    "modal": (modal_module, lambda **options: ModalProvider("image", app="app", **options)),
}


@pytest.fixture(params=SERVICES)
def make_provider(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., HostedProvider]]:
    module, make = SERVICES[request.param]
    monkeypatch.setitem(sys.modules, request.param, module())
    port = free_port()
    home = {"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    yield lambda **options: make(port=port, token="chosen", env=home, **options)
    assert FakeSandbox.known == {}


@pytest.mark.clause("rollouts-hosted")
async def test_sandbox_is_made_reached_found_again_and_deleted(make_provider: Any) -> None:
    client = await AsyncSandboxAgent.start(make_provider())
    session = await client.sessions.create("mock", directory="/")
    assert (await session.prompt("echo hosted")).text == "hosted"
    (box,) = FakeSandbox.known.values()
    assert box.variables["SANDBOX_AGENT_LEASE_S"] == "600"
    async with await AsyncSandboxAgent.start(make_provider(), sandbox_id=client.sandbox_id) as again:
        assert len(await again.acp.list()) == 1
    await client.aclose()
    with pytest.raises(SandboxDestroyedError):
        await AsyncSandboxAgent.start(make_provider(), sandbox_id=client.sandbox_id)


@pytest.mark.clause("rollouts-hosted", "rollouts-lease")
async def test_idle_client_keeps_its_sandbox(make_provider: Any) -> None:
    async with await AsyncSandboxAgent.start(make_provider(lease_s=2)) as client:
        await asyncio.sleep(4)  # longer than the lease, without a request of the client
        assert (await client.health())["status"] == "ok"
