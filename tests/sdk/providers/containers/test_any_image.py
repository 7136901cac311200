"""The self-contained directory: servers in images without Python, with an old libc, and in gVisor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, podman
from tests.support.machine.container_engines import EMPTY_IMAGE, ROOT, Engine, run_podman, run_rootless_podman
from tests.support.suite.requirements import SYSTEM_PATH

pytestmark = [pytest.mark.root, pytest.mark.podman, pytest.mark.network, pytest.mark.timeout(600)]

# The old gVisor of Debian has neither pidfds nor openat2; ptrace works on machines without KVM.
RUNSC = '#!/bin/sh\nexec runsc --platform=ptrace --network=host --ignore-cgroups "$@"\n'


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `scripts/build` makes, as a directory with an archive beside it."""
    place = tmp_path_factory.mktemp("bundle")
    environment = {**os.environ, "SANDBOX_AGENT_SKIP_PAGE": "1"}
    build = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(place), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True, env=environment)
    wheel = next(place.glob("*.whl"))
    script = ROOT / "scripts" / "distribution" / "build_bundle.py"
    words = [sys.executable, script, wheel, place / "bundle", "--archive", place / "bundle.tar.gz"]
    subprocess.run(words, check=True, capture_output=True)
    return place / "bundle"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with run_podman() as engine:
        yield engine


async def use(engine: Engine, bundle: Path, image: str, **options: str) -> str:
    provider = podman(image, engine=engine.address, bundle=str(bundle), **options)  # type: ignore[arg-type]
    async with await AsyncSandboxAgent.start(provider) as client:
        session = await client.sessions.create("mock", directory="/")
        await client.fs.write_text("/home/written", "by the server")
        assert await client.fs.read_text("/home/written") == "by the server"
        return (await session.prompt("echo anywhere")).text


@pytest.mark.clause("rollouts-any-image")
async def test_image_without_any_program_runs_the_mounted_directory(engine: Engine, bundle: Path) -> None:
    assert await use(engine, bundle, EMPTY_IMAGE) == "anywhere"


@pytest.mark.clause("rollouts-any-image")
async def test_archive_is_copied_into_the_container(engine: Engine, bundle: Path) -> None:
    assert await use(engine, bundle.with_name("bundle.tar.gz"), EMPTY_IMAGE) == "anywhere"


@pytest.mark.clause("rollouts-any-image", "rollouts-run")
def test_run_command_works_from_the_directory_alone(engine: Engine, bundle: Path) -> None:
    body = {
        "Image": EMPTY_IMAGE,
        "Entrypoint": ["/opt/sandbox-agent/bin/sandbox-agent"],
        "Cmd": ["run", "mock", "echo from the container"],
        "HostConfig": {"Binds": [f"{bundle}:/opt/sandbox-agent:ro"], "NetworkMode": "none"},
    }
    with engine.client() as client:
        client.post("/containers/create", params={"name": "one-turn"}, json=body).raise_for_status()
        client.post("/containers/one-turn/start").raise_for_status()
        assert client.post("/containers/one-turn/wait").json()["StatusCode"] == 0
        output = client.get("/containers/one-turn/logs", params={"stdout": "true"}).content
        client.delete("/containers/one-turn")
    assert b"from the container" in output


@pytest.mark.clause("rollouts-any-image", "rollouts-containers")
async def test_rootless_podman_runs_the_copied_archive(bundle: Path) -> None:
    with run_rootless_podman() as engine:
        # A network of its own needs slirp4netns and a /dev/net/tun that the user may open.
        archive = bundle.with_name("bundle.tar.gz")
        assert await use(engine, archive, EMPTY_IMAGE, network="host") == "anywhere"
        assert engine.containers() == []


@pytest.mark.clause("rollouts-any-image", "rollouts-old-kernels")
async def test_agents_start_in_a_gvisor_without_pidfds(bundle: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        runtime = Path(place) / "runsc-ptrace"
        runtime.write_text(RUNSC)
        runtime.chmod(0o755)
        with run_podman(str(runtime)) as engine:
            assert await use(engine, bundle, EMPTY_IMAGE, network="host") == "anywhere"


@pytest.mark.full
@pytest.mark.clause("rollouts-any-image")
def test_debian_11_with_its_old_libc_and_without_python(engine: Engine, bundle: Path) -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        words = ["mmdebstrap", "--quiet", "--variant=essential", "bullseye", f"{place}/root.tar"]
        subprocess.run(words, check=True, env={**os.environ, "PATH": SYSTEM_PATH}, timeout=400)
        engine.load("localhost/debian-11:latest", Path(f"{place}/root.tar").read_bytes())
    assert asyncio.run(use(engine, bundle, "localhost/debian-11:latest")) == "anywhere"
