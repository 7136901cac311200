"""An install that a first message waits for is visible: in both lists, in the log, in the SDK."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, InstallProgress
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = [pytest.mark.process, pytest.mark.node]


def start(directory: Path, *, held_by: Path | None = None) -> ServerProcess:
    """A server whose agent `tiny` is not installed; its install waits until the file `held_by` is there."""
    wait = f"while [ ! -e {held_by} ]; do sleep 0.05; done"
    package = npm_package(directory, scripts={"install": wait} if held_by else None)
    agents = directory / "agents.toml"
    agents.write_text(npm_agent(package, size_mb="1"))
    settings = {
        "SANDBOX_AGENT_REQUIRE_PREINSTALL": "0",
        "SANDBOX_AGENT_AGENTS_FILE": str(agents),
        "npm_config_registry": "http://127.0.0.1:9",
        "npm_config_cache": str(directory / "npm-cache"),
    }
    return ServerProcess(directory, settings=settings, token=None).ready()


@pytest.mark.clause("agents-visible-install")
async def test_install_of_a_first_session_is_shown_until_it_is_done(tmp_path: Path) -> None:
    release = tmp_path / "release"
    server = await asyncio.to_thread(start, tmp_path, held_by=release)
    reports: list[InstallProgress] = []
    try:
        async with await AsyncSandboxAgent.connect(
            f"http://127.0.0.1:{server.port}", on_install_progress=reports.append
        ) as client:
            assert (await client.agents.get("tiny")).installing is None
            creating = asyncio.create_task(client.sessions.create("tiny", directory=str(tmp_path)))
            # The first report has no percent: nothing is on disk yet.
            await asyncio.to_thread(
                wait_until, lambda: reports and reports[-1].percent is not None, 50, "a report with percent"
            )
            progress = (await client.agents.get("tiny")).installing
            assert progress is not None and progress.step == "packages"
            assert progress.percent is not None and 0 <= progress.percent < 100
            (instance,) = await client.acp.list()
            assert instance.status == "starting" and instance.installing is not None
            assert instance.installing.step == "packages"
            release.touch()
            session = await asyncio.wait_for(creating, 60)
            assert session.agent == "tiny" and reports[0].step == "packages" and reports[0].message
            info = await client.agents.get("tiny")
            assert info.installed and info.installing is None
            (instance,) = await client.acp.list()
            assert instance.status == "running" and instance.installing is None
    finally:
        await asyncio.to_thread(server.stop)
    log = server.log_path.read_text()
    for step in ("packages", "verify", "done"):
        assert f"install.step agent=tiny step={step}" in log, log


@pytest.mark.clause("agents-visible-install")
async def test_explicit_install_reports_every_step(tmp_path: Path) -> None:
    server = await asyncio.to_thread(start, tmp_path)
    reports: list[InstallProgress] = []
    try:
        async with await AsyncSandboxAgent.connect(f"http://127.0.0.1:{server.port}") as client:
            result = await client.agents.install("tiny", on_progress=reports.append)
            assert not result.already_installed and result.artifacts
    finally:
        await asyncio.to_thread(server.stop)
    steps = list(dict.fromkeys(report.step for report in reports))
    assert steps[-2:] == ["verify", "done"] and "packages" in steps and reports[-1].percent == 100


@pytest.mark.clause("agents-visible-install")
async def test_failed_install_is_logged(tmp_path: Path) -> None:
    server = await asyncio.to_thread(start, tmp_path, held_by=tmp_path / "never" / "there")
    try:
        (tmp_path / "tiny-agent.tgz").write_bytes(b"broken")
        async with await AsyncSandboxAgent.connect(f"http://127.0.0.1:{server.port}") as client:
            with pytest.raises(Exception, match="tiny"):
                await client.agents.install("tiny")
        await asyncio.to_thread(
            wait_until, lambda: "install.failed agent=tiny" in server.log_path.read_text(), 10, "the log"
        )
    finally:
        await asyncio.to_thread(server.stop)
