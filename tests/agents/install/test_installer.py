"""Installs from npm: atomic, shared by callers, verified by starting the agent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from sandbox_agent.agents.install.install_progress import Progress
from sandbox_agent.agents.install.install_result import InstallArtifact, InstallResult
from sandbox_agent.errors import InstallFailed, InvalidRequest
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package


@pytest.fixture
def environment(tmp_path: Path) -> InstallEnvironment:
    return InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path)))


@pytest.mark.clause("spec1-3.2-lazy-install", "install-sources")
async def test_first_use_installs_and_the_agent_answers(environment: InstallEnvironment) -> None:
    assert await environment.starts()
    launcher = environment.launcher_file()
    text = launcher.read_text()
    assert text.startswith("#!/usr/bin/env sh\n") and "exec node " in text and text.endswith('"$@"\n')
    assert launcher.stat().st_mode & 0o111


async def test_result_names_the_launcher_and_its_source(environment: InstallEnvironment) -> None:
    result = await environment.installer().install("tiny")
    launcher = InstallArtifact("agent_process", environment.layout.launcher("tiny"), "fallback", version=None)
    assert result == InstallResult(False, (launcher,))


async def test_second_install_does_nothing(environment: InstallEnvironment) -> None:
    await environment.installer().install("tiny")
    before = environment.builds()
    assert await environment.installer().install("tiny") == InstallResult(True)
    assert environment.builds() == before


async def test_reinstall_keeps_the_previous_build_for_agents_that_run_from_it(
    environment: InstallEnvironment,
) -> None:
    await environment.installer().install("tiny")
    first = environment.builds()
    await environment.installer().install("tiny", reinstall=True)
    second = environment.builds()
    await environment.installer().install("tiny", reinstall=True)
    assert set(first) < set(second) and len(environment.builds()) == 2
    assert not set(first) & set(environment.builds())
    assert await environment.starts()


async def test_progress_reports_the_steps_and_ends_at_100_percent(environment: InstallEnvironment) -> None:
    seen: list[Progress] = []
    await environment.installer().install("tiny", progress=seen.append)
    assert [progress.step for progress in seen if progress.bytes == 0] == ["packages", "verify", "done"]
    assert seen[-1].percent == 100


@pytest.mark.clause("install-atomic")
async def test_many_callers_share_one_install(environment: InstallEnvironment) -> None:
    installer = environment.installer()
    results = await asyncio.gather(*(installer.install("tiny") for _ in range(20)))
    assert len(environment.builds()) == 1
    assert not any(result.already_installed for result in results)


async def test_cancelled_caller_does_not_stop_the_install(environment: InstallEnvironment) -> None:
    installer = environment.installer()
    impatient = asyncio.create_task(installer.install("tiny"))
    await asyncio.sleep(0)
    patient = asyncio.create_task(installer.install("tiny"))
    await asyncio.sleep(0)
    impatient.cancel()
    assert not (await patient).already_installed
    assert impatient.cancelled()


@pytest.mark.clause("install-atomic")
async def test_two_servers_install_only_once(environment: InstallEnvironment) -> None:
    processes = [await environment.install_in_another_process() for _ in range(2)]
    outputs = await asyncio.wait_for(asyncio.gather(*(process.communicate() for process in processes)), 50)
    answers = [json.loads(output.splitlines()[-1]) for output, _ in outputs]
    assert sorted(answer["already_installed"] for answer in answers) == [False, True]
    assert b"wait\n" in outputs[0][0] + outputs[1][0]
    assert len(environment.builds()) == 1 and await environment.starts()


async def test_launcher_of_the_user_is_not_replaced(environment: InstallEnvironment) -> None:
    own = environment.launcher_file()
    own.parent.mkdir(parents=True)
    own.write_text("#!/bin/sh\nexit 3\n")
    assert (await environment.installer().install("tiny")).already_installed
    assert own.read_text() == "#!/bin/sh\nexit 3\n"


async def test_launcher_whose_packages_are_gone_is_installed_again(environment: InstallEnvironment) -> None:
    await environment.installer().install("tiny")
    (build,) = environment.builds()
    environment.build_folder(build).joinpath("install.json").unlink()
    assert await environment.starts()
    assert environment.builds() != [build]


async def test_first_start_leaves_nothing_in_the_home(tmp_path: Path) -> None:
    litter = "require('fs').writeFileSync(process.env.HOME + '/litter', '');"
    environment = InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path, at_start=litter)))
    await environment.installer().install("tiny")
    assert not (tmp_path / "home" / "litter").exists()


async def test_variables_of_the_catalogue_reach_the_agent_through_the_launcher(tmp_path: Path) -> None:
    at_start = "if (process.env.ROOTED !== __dirname + '/../..') throw process.env.ROOTED;".replace(
        "__dirname + '/../..'", "require('path').resolve(__dirname, '../..')"
    )
    package = npm_package(tmp_path, at_start=at_start)
    environment = InstallEnvironment(tmp_path, npm_agent(package, default_env='{ ROOTED = "{root}" }'))
    assert await environment.starts()


async def test_native_program_is_linked_beside_the_launchers(tmp_path: Path) -> None:
    agents = npm_agent(npm_package(tmp_path), native='"tiny"', native_file='"node_modules/.bin/tiny-agent"')
    environment = InstallEnvironment(tmp_path, agents)
    result = await environment.installer().install("tiny")
    assert [artifact.kind for artifact in result.artifacts] == ["native_agent", "agent_process"]
    assert (environment.data / "bin" / "tiny").resolve().name == "agent.js"


@pytest.mark.parametrize("version", ["", "../x", "file:/etc", "1 2", "-g", "x" * 65])
async def test_malformed_version_is_refused(environment: InstallEnvironment, version: str) -> None:
    with pytest.raises(InvalidRequest):
        await environment.installer().install("tiny", agent_process_version=version)


async def test_mock_is_always_installed(environment: InstallEnvironment) -> None:
    assert await environment.installer().install("mock") == InstallResult(True)
    (artifact,) = (await environment.installer().install("mock", reinstall=True)).artifacts
    assert (artifact.source, artifact.version) == ("builtin", "builtin")


async def test_missing_command_of_the_user_is_reported(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, '[[agent]]\nid = "own"\ncommand = "/opt/nowhere/agent"\n')
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("own")
    assert "/opt/nowhere/agent" in caught.value.extensions["details"]["stderr"]


async def test_variant_for_musl_is_found(tmp_path: Path) -> None:
    script = "mkdir ../of-$(node -p 'process.platform')-$(node -p 'process.arch')-musl"
    package = npm_package(tmp_path, scripts={"postinstall": script})
    environment = InstallEnvironment(tmp_path, npm_agent(package, check="node_modules/of-{platform}"))
    assert await environment.starts()
