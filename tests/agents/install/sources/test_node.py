"""If Node.js is too old, a newer one is installed from npm into the data directory and runs the agent."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.agents.install.install_progress import Progress
from sandbox_agent.agents.install.launcher_script import write_executable
from sandbox_agent.agents.install.sources.node import NODE_VERSION
from sandbox_agent.agents.install.sources.platform_name import npm_platform
from sandbox_agent.errors import InstallFailed
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.install.sources.npm_registry import NpmRegistry
from tests.agents.tiny_agent_package import npm_agent, npm_package

# The agent refuses the old Node as a real one would: by not starting.
NEEDS_THE_NEW_ONE = "if (process.env.NODE_STAND_IN !== 'new') { console.error('old Node'); process.exit(9); }"


def node_package(directory: Path, node: str) -> Path:
    """A package `node-PLATFORM` whose program starts the Node.js of this machine."""
    name = f"node-{npm_platform()}"
    manifest = json.dumps({"name": name, "version": NODE_VERSION})
    script = f'#!/bin/sh\nNODE_STAND_IN=new exec {node} "$@"\n'
    path = directory / "node.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for member, text in {"package/package.json": manifest, "package/bin/node": script}.items():
            info = tarfile.TarInfo(member)
            info.size, info.mode = len(text), 0o755
            tar.addfile(info, io.BytesIO(text.encode()))
    return path


@pytest.fixture
def registry() -> Iterator[NpmRegistry]:
    with NpmRegistry() as running:
        yield running


@pytest.fixture
def environment(tmp_path: Path, registry: NpmRegistry) -> InstallEnvironment:
    """A machine whose Node.js reports version 16."""
    node = shutil.which("node") or ""
    programs = tmp_path / "programs"
    programs.mkdir()
    old = f'#!/bin/sh\n[ "$1" = --version ] && echo v16.20.2 && exit\nexec {node} "$@"\n'
    write_executable(programs / "node", old)
    package = npm_package(tmp_path, at_start=NEEDS_THE_NEW_ONE)
    environment = InstallEnvironment(tmp_path, npm_agent(package))
    environment.environ["PATH"] = f"{programs}:{os.environ['PATH']}"
    environment.environ["npm_config_registry"] = registry.address
    return environment


@pytest.mark.clause("install-node-too-old")
async def test_newer_node_is_fetched_once_and_runs_the_agent(
    environment: InstallEnvironment, registry: NpmRegistry, tmp_path: Path
) -> None:
    registry.publish(node_package(tmp_path, shutil.which("node") or ""))
    seen: list[Progress] = []
    await environment.installer().install("tiny", progress=seen.append)
    assert seen[0].step == "node"
    ours = environment.node_builds / NODE_VERSION / "node_modules" / f"node-{npm_platform()}" / "bin" / "node"
    assert ours.exists() and f"exec {ours} " in environment.launcher_file().read_text()
    assert await environment.starts()
    fetched = len(registry.asked)
    await environment.installer().install("tiny", reinstall=True)
    assert len(registry.asked) == fetched


@pytest.mark.clause("install-node-too-old")
async def test_unavailable_node_is_reported(environment: InstallEnvironment) -> None:
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert f"node-{npm_platform()}" in caught.value.extensions["details"]["stderr"]
    assert environment.is_untouched() and not list(environment.node_builds.glob("*"))
