"""A server started by the client: found, healthy, and ended with its parent. Providers."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from sandbox_agent import (
    APITimeoutError,
    AsyncSandboxAgent,
    SandboxProvider,
    SpawnedServer,
    SpawnError,
    SpawnOptions,
    asgi,
    spawn_server,
)
from sandbox_agent.sdk.providers.embedded_server import find_command
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually
from tests.support.server_process import free_port


def command_line(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0] != b"Z"
    except OSError:
        return False


@pytest.mark.clause("spec3-authentication", "spec3-auto-detection", "spec3-embedded-mode", "decision-36")
async def test_start_finds_the_command_and_the_server_goes_with_the_client(tmp_path: Path) -> None:
    async with await AsyncSandboxAgent.start(
        spawn=SpawnOptions(env={"HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "d")})
    ) as client:
        assert client.base_url.startswith("http://127.0.0.1:") and len(client.token or "") == 48
        assert client.sandbox_id == f"local/{client.base_url.removeprefix('http://')}"
        assert client.inspector_url == f"{client.base_url}/ui/#token={client.token}"
        async with httpx.AsyncClient() as stranger:
            assert (await stranger.get(f"{client.base_url}/v1/health")).status_code == 401
        session = await client.sessions.create("mock", directory=str(tmp_path))
        assert (await session.prompt("echo embedded")).text == "embedded"
        url = client.base_url
    with pytest.raises(httpx.ConnectError):
        async with httpx.AsyncClient() as stranger:
            await stranger.get(f"{url}/v1/health")


@pytest.mark.clause("spec3-auto-detection", "spec3-embedded-mode")
async def test_spawn_takes_a_mapping_of_options(tmp_path: Path) -> None:
    port = free_port()
    spawn = {"port": port, "token": "chosen", "env": {"HOME": str(tmp_path)}}
    async with await AsyncSandboxAgent.start(spawn=spawn) as client:
        assert (client.base_url, client.token) == (f"http://127.0.0.1:{port}", "chosen")
        assert (await client.health())["status"] == "ok"


@pytest.mark.clause("spec3-auto-detection")
@pytest.mark.parametrize("spawn", ["yes", 5, 0, ["port"], {"Port": 1}, {"port": "9000"}, {"port": True}])
async def test_a_spawn_that_means_nothing_is_refused(spawn: Any) -> None:
    with pytest.raises(TypeError, match="spawn"):
        await AsyncSandboxAgent.start(spawn=spawn)
    with pytest.raises(TypeError, match="spawn"):
        await AsyncSandboxAgent.start(asgi(), spawn={"port": 1})


@pytest.mark.clause("spec3-auto-detection")
@pytest.mark.parametrize("port", [-1, 65536])
async def test_a_port_that_does_not_exist_is_refused(port: int) -> None:
    with pytest.raises(ValueError, match=f"from 0 .* to 65535, not {port}"):
        await AsyncSandboxAgent.start(spawn={"port": port})


@pytest.mark.clause("spec3-embedded-mode")
def test_spawn_server_is_a_handle_of_a_server(tmp_path: Path) -> None:
    made: list[SpawnedServer] = []
    # The server outlives the thread that has asked for it.
    thread = threading.Thread(target=lambda: made.append(spawn_server({"env": {"HOME": str(tmp_path)}})))
    thread.start()
    thread.join(30)
    server = made[0]
    header = {"authorization": f"Bearer {server.token}"}
    assert httpx.get(f"{server.base_url}/v1/health").status_code == 401
    assert httpx.get(f"{server.base_url}/v1/health", headers=header).json() == {"status": "ok"}
    assert server.alive
    server.close()
    assert not server.alive and not alive(server.pid)
    server.close()
    with pytest.raises(TypeError, match="spawn"):
        spawn_server("yes")  # type: ignore[arg-type]
    with spawn_server(SpawnOptions(env={"HOME": str(tmp_path)})) as server:
        assert server.alive
    assert not server.alive


@pytest.mark.clause("spec3-embedded-mode")
async def test_a_server_that_does_not_start_raises_with_the_tail_of_its_log(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'first line' >&2\necho 'cannot bind' >&2\nexit 4\n")
    broken.chmod(0o755)
    with pytest.raises(SpawnError, match="cannot bind") as failure:
        await AsyncSandboxAgent.start(spawn=SpawnOptions(binary_path=str(broken)))
    assert failure.value.exit_code == 4 and "first line" in failure.value.stderr_tail
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    with pytest.raises(SpawnError, match=r"within 0\.4 s"):
        await AsyncSandboxAgent.start(spawn=SpawnOptions(binary_path=str(silent), timeout=0.4))


@pytest.mark.clause("spec3-embedded-mode")
def test_the_command_is_looked_for_in_the_documented_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SANDBOX_AGENT_BIN", raising=False)
    assert find_command(None) == [sys.executable, "-m", "sandbox_agent"]
    program = tmp_path / "program"
    program.touch()
    monkeypatch.setenv("SANDBOX_AGENT_BIN", str(program))
    assert find_command(None) == [str(program)]
    assert find_command(sys.executable) == [sys.executable]
    with pytest.raises(SpawnError, match="no server program"):
        find_command(str(tmp_path / "missing"))


@pytest.mark.clause("spec3-embedded-mode")
async def test_the_server_dies_with_a_killed_parent(tmp_path: Path) -> None:
    program = (
        "import sys, time\n"
        "from sandbox_agent import SandboxAgent\n"
        "client = SandboxAgent.start()\n"
        "session = client.sessions.create('mock', directory='/')\n"
        "print(client.provider._servers.popitem()[1].pid, client.acp.list()[0].pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=subprocess.PIPE, env=environment
    )
    try:
        assert parent.stdout is not None
        line = await asyncio.wait_for(parent.stdout.readline(), 30)
        pids = [int(pid) for pid in line.split()]
        assert len(pids) == 2 and all(alive(pid) for pid in pids)
    finally:
        parent.send_signal(signal.SIGKILL)
        await parent.wait()
    await eventually(lambda: not any(alive(pid) for pid in pids), 20)


@pytest.mark.clause("spec3-auto-detection", "spec3-server-mode")
async def test_url_and_token_come_from_the_environment(
    own_server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANDBOX_AGENT_URL", own_server.url)
    monkeypatch.setenv("SANDBOX_AGENT_TOKEN", own_server.token)
    async with await AsyncSandboxAgent.connect() as client:
        assert client.base_url == own_server.url
        session = await client.sessions.create("mock")
        assert session.directory == str(own_server.home), "a remote server's home is where sessions work"


class SmallestProvider(SandboxProvider):
    """A provider with the required methods, and a token."""

    name = "smallest"

    def __init__(self, server: LiveServer) -> None:
        self.server = server
        self.calls: list[str] = []

    async def create(self) -> str:
        self.calls.append("create")
        return "one"

    async def destroy(self, sandbox_id: str) -> None:
        self.calls.append(f"destroy {sandbox_id}")

    async def get_url(self, sandbox_id: str) -> str:
        return self.server.url

    async def get_token(self, sandbox_id: str) -> str:
        return self.server.token


class PausingProvider(SmallestProvider):
    async def pause(self, sandbox_id: str) -> None:
        self.calls.append(f"pause {sandbox_id}")

    async def reconnect(self, sandbox_id: str) -> None:
        self.calls.append(f"reconnect {sandbox_id}")


@pytest.mark.clause("sdk-small-providers")
async def test_a_provider_needs_three_methods(own_server: LiveServer) -> None:
    provider = SmallestProvider(own_server)
    async with await AsyncSandboxAgent.start(provider) as client:
        assert client.sandbox_id == "smallest/one"
        session = await client.sessions.create("mock")
        assert (await session.prompt("echo here")).text == "here"
        await client.pause_sandbox()
    assert provider.calls == ["create", "destroy one"], "what cannot be paused is destroyed"
    pausing = PausingProvider(own_server)
    client = await AsyncSandboxAgent.start(pausing, sandbox_id="smallest/two")
    await client.pause_sandbox()
    assert pausing.calls == ["reconnect two", "pause two"]


@pytest.mark.clause("spec3-server-mode")
async def test_an_http_client_of_ones_own_is_used(own_server: LiveServer) -> None:
    seen: list[str] = []

    async def note(request: httpx.Request) -> None:
        seen.append(request.method)

    async with httpx.AsyncClient(event_hooks={"request": [note]}, timeout=5) as own:
        async with await AsyncSandboxAgent.connect(
            own_server.url, own_server.token, http_client=own
        ) as client:
            session = await client.sessions.create("mock")
            assert (await session.prompt("echo mine")).text == "mine"
        assert not own.is_closed
    assert {"GET", "POST", "DELETE"} <= set(seen)


async def test_closing_keeps_agents_running_only_when_asked(own_server: LiveServer) -> None:
    for keep, left in ((False, 0), (True, 1)):
        client = await AsyncSandboxAgent.connect(own_server.url, own_server.token, keep_running=keep)
        await client.sessions.create("mock")
        await client.aclose()
        async with await AsyncSandboxAgent.connect(own_server.url, own_server.token) as observer:
            assert len(await observer.acp.list()) == left


async def test_the_wait_for_health_is_bounded() -> None:
    with pytest.raises(APITimeoutError, match="was not healthy within"):
        await AsyncSandboxAgent.connect("http://127.0.0.1:9", wait_for_health=0.3)


@pytest.mark.clause("sdk-token-not-in-ps")
async def test_the_token_is_not_on_the_command_line(tmp_path: Path) -> None:
    options = SpawnOptions(token="a-secret-of-the-test", env={"HOME": str(tmp_path)})
    with await asyncio.to_thread(spawn_server, options) as server:
        assert server.token == "a-secret-of-the-test"
        shown = command_line(server.pid)
        assert b"server" in shown and b"a-secret-of-the-test" not in shown
        async with httpx.AsyncClient(headers={"authorization": f"Bearer {server.token}"}) as client:
            assert (await client.get(f"{server.base_url}/v1/health")).status_code == 200


FORKING = """
import os, sys
from sandbox_agent import ClientClosedError, SandboxAgent

client = SandboxAgent.start()
session = client.sessions.create("mock")
children = []
for use in ("leave", "use", "close"):
    child = os.fork()
    if child == 0:
        if use == "use":
            try:
                session.prompt("echo in the child")
            except ClientClosedError as error:
                print("refused", "fork" in str(error), flush=True)
        if use == "close":
            client.close()
        sys.exit(7)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], flush=True)
print(session.prompt("echo parent").text, flush=True)
client.close()
"""


@pytest.mark.clause("sdk-fork")
def test_forked_children_exit_and_leave_the_server_to_their_parent(tmp_path: Path) -> None:
    environment = {**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "d")}
    done = subprocess.run(
        [sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=50, env=environment
    )
    assert done.stdout.splitlines() == ["refused True", "[7, 7, 7]", "parent"], done.stderr
    assert done.returncode == 0
