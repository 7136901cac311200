"""Sandboxes in containers of Podman and Docker: life cycle, limits, errors, and what killed clients leave."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import subprocess
import sys
import time

import pytest

from sandbox_agent import AsyncSandboxAgent, SandboxDestroyedError, SandboxProviderError, SpawnError, podman
from sandbox_agent.sdk.providers.containers.container_options import LABEL
from tests.sdk.providers.containers.conftest import PODMAN, MakeProvider
from tests.support.machine.container_engines import EMPTY_IMAGE, Engine
from tests.support.polling import eventually, wait_until

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]

AT_ONCE = 24
DRIVER = """
import asyncio, pickle, sys
from sandbox_agent import AsyncSandboxAgent

async def main():
    client = await AsyncSandboxAgent.start(pickle.load(sys.stdin.buffer))
    session = await client.sessions.create("mock", directory="/")
    await session.prompt("echo hello")
    print(client.sandbox_id, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.clause("rollouts-containers")
async def test_server_runs_in_a_container_and_goes_with_the_client(
    engine: Engine, make_provider: MakeProvider
) -> None:
    provider = make_provider(env={"GREETING": "from the container"}, workdir="/home")
    async with await AsyncSandboxAgent.start(provider) as client:
        assert client.sandbox_id is not None and client.sandbox_id.startswith(f"{engine.name}/sandbox-agent-")
        session = await client.sessions.create("mock")
        assert (await session.prompt("echo contained")).text == "contained"
        assert session.directory == "/home"
        environment = (await client.fs.read("/proc/self/environ")).split(b"\0")
        assert b"GREETING=from the container" in environment
        assert "sandbox-agent" in await client.fs.read_text("/proc/1/cmdline")
    assert engine.containers() == []


@PODMAN
@pytest.mark.clause("rollouts-containers")
async def test_limits_user_and_mounts_hold_inside(
    make_provider: MakeProvider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    shared = tmp_path_factory.mktemp("shared")
    (shared / "given").write_text("seen")
    provider = make_provider(
        memory_mb=300, pids=64, cpus=0.5, mounts={"/data": f"{shared}:ro"}, labels={"team": "tests"}
    )
    async with await AsyncSandboxAgent.start(provider) as client:
        assert await client.fs.read_text("/data/given") == "seen"
        facts = await provider._inspect(client.sandbox_id.partition("/")[2])  # type: ignore[union-attr]
        limits = facts["HostConfig"]
        assert (limits["Memory"], limits["PidsLimit"]) == (300 * 2**20, 64)
        assert limits["NanoCpus"] == 500_000_000 or limits["CpuQuota"] * 2 == limits["CpuPeriod"]
        assert facts["Config"]["Labels"] == {"team": "tests", LABEL: "1"}
    async with await AsyncSandboxAgent.start(make_provider(user="65534", env={"HOME": "/home"})) as client:
        status = await client.fs.read_text("/proc/self/status")
        assert "Uid:\t65534\t65534" in status


@pytest.mark.clause("rollouts-containers")
async def test_detached_sandbox_is_found_again_by_another_provider(make_provider: MakeProvider) -> None:
    async with await AsyncSandboxAgent.start(make_provider(detached=True)) as client:
        await client.fs.write_text("/home/note", "kept")
        sandbox_id = client.sandbox_id
    provider = pickle.loads(pickle.dumps(make_provider(detached=True)))  # noqa: S301
    async with await AsyncSandboxAgent.start(provider, sandbox_id=sandbox_id) as client:
        assert await client.fs.read_text("/home/note") == "kept"
        await client.destroy_sandbox()
    with pytest.raises(SandboxDestroyedError):
        await AsyncSandboxAgent.start(make_provider(), sandbox_id=sandbox_id)


@PODMAN
@pytest.mark.clause("rollouts-containers", "rollouts-lease")
async def test_paused_sandbox_continues_after_more_than_its_lease(make_provider: MakeProvider) -> None:
    client = await AsyncSandboxAgent.start(make_provider(lease_s=3))
    await client.fs.write_text("/home/note", "paused")
    sandbox_id = client.sandbox_id
    await client.pause_sandbox()
    await asyncio.sleep(5)  # longer than the lease, which is what is tested
    async with await AsyncSandboxAgent.start(make_provider(lease_s=3), sandbox_id=sandbox_id) as client:
        assert await client.fs.read_text("/home/note") == "paused"


@PODMAN
@pytest.mark.clause("rollouts-containers", "rollouts-lease")
async def test_idle_client_keeps_its_sandbox(make_provider: MakeProvider) -> None:
    async with await AsyncSandboxAgent.start(make_provider(lease_s=2)) as client:
        await asyncio.sleep(4)  # longer than the lease, without a request of the client
        assert (await client.health())["status"] == "ok"


@pytest.mark.clause("rollouts-containers", "rollouts-lease")
def test_container_of_a_killed_driver_is_gone_after_its_lease(
    engine: Engine, make_provider: MakeProvider
) -> None:
    driver = subprocess.Popen([sys.executable, "-c", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert driver.stdin is not None and driver.stdout is not None
    pickle.dump(make_provider(lease_s=3), driver.stdin)
    driver.stdin.close()
    assert driver.stdout.readline().decode().startswith(engine.name)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    driver.stdout.close()
    assert len(engine.containers()) == 1
    wait_until(lambda: engine.containers() == [], 30, "the engine has removed the container")


@pytest.mark.clause("rollouts-containers")
async def test_faults_are_named(engine: Engine, make_provider: MakeProvider) -> None:
    with pytest.raises(SandboxProviderError, match="no image 'localhost/missing:1'") as missing:
        await AsyncSandboxAgent.start(make_provider("localhost/missing:1"))
    assert missing.value.status == 404
    with pytest.raises(SandboxProviderError, match="connection refused"):
        await AsyncSandboxAgent.start(make_provider("localhost/missing:1", pull=True))
    with pytest.raises(SpawnError, match="unknown argument '--nonsense'"):
        await AsyncSandboxAgent.start(make_provider(args=["--nonsense"]))
    with pytest.raises(SandboxProviderError, match="sandbox-agent"):
        await AsyncSandboxAgent.start(make_provider(env={"PATH": "/nowhere"}))
    with pytest.raises(SandboxProviderError, match="there is no bundle at /nowhere"):
        await AsyncSandboxAgent.start(make_provider(bundle="/nowhere"))
    assert engine.containers() == []


async def test_missing_engine_and_impossible_options_are_named() -> None:
    with pytest.raises(SandboxProviderError, match="there is no such socket"):
        await AsyncSandboxAgent.start(podman(EMPTY_IMAGE, engine="unix:///nowhere/engine.sock"))
    with pytest.raises(ValueError, match="ssh://machine"):
        podman(EMPTY_IMAGE, engine="ssh://machine")
    with pytest.raises(ValueError, match="cannot be reached"):
        podman(EMPTY_IMAGE, network="none")


@PODMAN
@pytest.mark.clause("rollouts-containers")
async def test_killed_container_fails_pending_work_at_once(
    engine: Engine, make_provider: MakeProvider
) -> None:
    provider = make_provider()
    client = await AsyncSandboxAgent.start(provider)
    name = str(client.sandbox_id).partition("/")[2]
    with engine.client() as api:
        await asyncio.to_thread(api.delete, f"/containers/{name}", params={"force": "true"})
    await eventually(lambda: not provider.alive(name), 20)
    await client.aclose()


@PODMAN
@pytest.mark.clause("rollouts-containers")
async def test_sweep_removes_what_was_never_started(engine: Engine, make_provider: MakeProvider) -> None:
    labelled = make_provider(labels={"batch": "1"})
    with engine.client() as api:
        for batch in ("1", "2"):
            body = {"Image": EMPTY_IMAGE, "Cmd": ["x"], "Labels": {LABEL: "1", "batch": batch}}
            api.post("/containers/create", params={"name": f"left-{batch}"}, json=body)
        api.post("/containers/create", params={"name": "other"}, json={"Image": EMPTY_IMAGE, "Cmd": ["x"]})
        assert await labelled.sweep() == []  # too young
        assert await labelled.sweep(older_than_s=0) == ["left-1"]
        async with await AsyncSandboxAgent.start(make_provider()) as client:
            assert await make_provider().sweep(older_than_s=0) == ["left-2"]
            assert (await client.health())["status"] == "ok"
        api.delete("/containers/other")


@PODMAN
@pytest.mark.clause("rollouts-containers")
async def test_twenty_four_containers_live_at_once(engine: Engine, make_provider: MakeProvider) -> None:
    provider = make_provider()
    starting, all_are_up = asyncio.Semaphore(4), asyncio.Barrier(AT_ONCE)

    async def use() -> str:
        async with starting:
            client = await AsyncSandboxAgent.start(provider)
        async with client:
            session = await client.sessions.create("mock", directory="/")
            await all_are_up.wait()
            return (await session.prompt("echo many")).text

    began = time.monotonic()
    assert await asyncio.gather(*(use() for _ in range(AT_ONCE))) == ["many"] * AT_ONCE
    print(f"{AT_ONCE} containers in {time.monotonic() - began:.1f} s")
    assert engine.containers() == []
