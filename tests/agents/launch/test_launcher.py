"""The program, environment and working directory of an agent's process."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import zipapp
from pathlib import Path

import pytest

import sandbox_agent
from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.installer import Installer
from sandbox_agent.agents.install.launcher_script import launcher_text, write_executable, write_manifest
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.launch.acp_probe import open_probe
from sandbox_agent.agents.launch.launcher import Launcher
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.errors import AgentNotInstalled, InvalidRequest, UnsupportedAgent

_LARGE = shutil.ignore_patterns("__pycache__", "page")


class LaunchEnvironment:
    """A data directory, a PATH and an environment of one test."""

    def __init__(self, directory: Path, agents: str = "") -> None:
        self.data = directory / "data"
        self.layout = InstallLayout(self.data)
        self.processes = Path(self.layout.processes)
        self.processes.mkdir(parents=True)
        self.on_path = directory / "path"
        self.on_path.mkdir()
        file = directory / "agents.toml"
        file.write_text(agents)
        self.catalog = Catalog.load(file)
        self.environ = {"PATH": str(self.on_path), "HOME": str(directory), "KEPT": "from the server"}
        self.environ["SANDBOX_AGENT_REQUIRE_PREINSTALL"] = "1"

    def launcher(self, *, pass_credentials: bool = False) -> Launcher:
        return Launcher(
            self.catalog,
            self.layout,
            lambda: Installer(self.catalog, self.layout, environ=self.environ),
            server_executable="/bin/sandbox-agent",
            environ=self.environ,
            pass_credentials=pass_credentials,
        )

    def program(self, name: str, folder: Path | None = None) -> Path:
        path = (folder or self.on_path) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_executable(path, "#!/bin/sh\nexit 0\n")
        return path


@pytest.fixture
def environment(tmp_path: Path) -> LaunchEnvironment:
    return LaunchEnvironment(tmp_path)


@pytest.mark.clause("decision-47")
async def test_launcher_file_comes_before_everything_else(environment: LaunchEnvironment) -> None:
    environment.program("opencode")
    script = environment.program("opencode-acp", environment.processes)
    assert (await environment.launcher().prepare("opencode")).argv == (str(script),)


@pytest.mark.clause("install-sources")
async def test_program_on_path_is_used_with_its_arguments(environment: LaunchEnvironment) -> None:
    program = environment.program("opencode")
    assert (await environment.launcher().prepare("opencode")).argv == (str(program), "acp")


async def test_program_on_path_is_used_only_with_its_native_program(environment: LaunchEnvironment) -> None:
    adapter = environment.program("claude-agent-acp")
    with pytest.raises(AgentNotInstalled):
        await environment.launcher().prepare("claude")
    environment.program("claude", environment.data / "bin")
    assert (await environment.launcher().prepare("claude")).argv == (str(adapter),)


async def test_missing_agent_is_an_error_when_installing_is_switched_off(
    environment: LaunchEnvironment,
) -> None:
    with pytest.raises(AgentNotInstalled) as caught:
        await environment.launcher().prepare("pi")
    assert caught.value.detail == "agent not installed: pi"


@pytest.mark.parametrize("value", ["1", "true", "yes", "YES", "on"])
def test_variable_switches_installing_off(environment: LaunchEnvironment, value: str) -> None:
    environment.environ["SANDBOX_AGENT_REQUIRE_PREINSTALL"] = value
    assert environment.launcher().requires_preinstall


@pytest.mark.parametrize("value", ["", "0", "no", "maybe"])
def test_other_values_leave_installing_on(environment: LaunchEnvironment, value: str) -> None:
    environment.environ["SANDBOX_AGENT_REQUIRE_PREINSTALL"] = value
    assert not environment.launcher().requires_preinstall


@pytest.mark.clause("decision-47")
async def test_unknown_agent_is_unsupported(environment: LaunchEnvironment) -> None:
    with pytest.raises(UnsupportedAgent):
        await environment.launcher().prepare("nobody")


@pytest.mark.clause("decision-45")
async def test_environment_is_the_servers_then_the_catalogues_then_the_instances(tmp_path: Path) -> None:
    environment = LaunchEnvironment(
        tmp_path, '[[agent]]\nid = "own"\ncommand = "own"\nenv = { A = "file", B = "file" }\n'
    )
    environment.program("own")
    environment.environ |= {"A": "server", "SANDBOX_AGENT_BIN": "another server's"}
    spec = await environment.launcher().prepare("own", env={"B": "instance"})
    assert spec.env["KEPT"] == "from the server"
    assert (spec.env["A"], spec.env["B"]) == ("file", "instance")
    assert spec.env["SANDBOX_AGENT_BIN"] == "/bin/sandbox-agent"


async def test_the_servers_environment_overrides_default_env(environment: LaunchEnvironment) -> None:
    environment.program("goose")
    assert (await environment.launcher().prepare("goose")).env["GOOSE_TELEMETRY_ENABLED"] == "false"
    environment.environ["GOOSE_TELEMETRY_ENABLED"] = "true"
    assert (await environment.launcher().prepare("goose")).env["GOOSE_TELEMETRY_ENABLED"] == "true"


async def test_working_directory_is_the_instances_the_agents_or_the_servers(tmp_path: Path) -> None:
    environment = LaunchEnvironment(tmp_path, '[[agent]]\nid = "own"\ncommand = "own"\ncwd = "/usr"\n')
    environment.program("own")
    environment.program("goose")
    launcher = environment.launcher()
    assert (await launcher.prepare("own", cwd="/etc")).cwd == "/etc"
    assert (await launcher.prepare("own")).cwd == "/usr"
    assert (await launcher.prepare("goose")).cwd == os.getcwd()


async def test_directory_that_does_not_exist_is_refused(
    environment: LaunchEnvironment, tmp_path: Path
) -> None:
    environment.program("goose")
    with pytest.raises(InvalidRequest, match="does not exist"):
        await environment.launcher().prepare("goose", cwd=str(tmp_path / "nowhere"))


@pytest.mark.parametrize("variables", [{"": "x"}, {"A=B": "x"}, {"A\0": "x"}, {"A": "secret\0"}])
async def test_variables_no_process_can_have_are_refused(
    environment: LaunchEnvironment, variables: dict[str, str]
) -> None:
    environment.program("goose")
    with pytest.raises(InvalidRequest) as caught:
        await environment.launcher().prepare("goose", env=variables)
    assert "secret" not in str(caught.value)


@pytest.mark.clause("spec3-credential-variables", "decision-45")
async def test_keys_from_files_are_passed_only_when_asked_for(environment: LaunchEnvironment) -> None:
    environment.program("claude-agent-acp")
    environment.program("claude")
    (Path(environment.environ["HOME"]) / ".claude.json").write_text('{"primaryApiKey": "sk-ant-1"}')
    assert "ANTHROPIC_API_KEY" not in (await environment.launcher().prepare("claude")).env
    passed = (await environment.launcher(pass_credentials=True).prepare("claude")).env
    assert passed["ANTHROPIC_API_KEY"] == "sk-ant-1"
    environment.environ["ANTHROPIC_API_KEY"] = "own"
    assert (await environment.launcher(pass_credentials=True).prepare("claude")).env[
        "ANTHROPIC_API_KEY"
    ] == "own"


@pytest.mark.clause("spec3-credential-variables")
@pytest.mark.parametrize(
    ("agent", "program", "given", "both"),
    [
        ("claude", "claude-agent-acp claude", "CLAUDE_API_KEY", "ANTHROPIC_API_KEY"),
        ("claude", "claude-agent-acp claude", "ANTHROPIC_API_KEY", "CLAUDE_API_KEY"),
        ("claude-native", "claude", "CLAUDE_API_KEY", "ANTHROPIC_API_KEY"),
        ("codex", "codex-acp codex", "CODEX_API_KEY", "OPENAI_API_KEY"),
        ("codex", "codex-acp codex", "OPENAI_API_KEY", "CODEX_API_KEY"),
        ("codex-native", "codex", "CODEX_API_KEY", "OPENAI_API_KEY"),
    ],
)
async def test_key_is_passed_under_every_name_of_the_specification(
    environment: LaunchEnvironment, agent: str, program: str, given: str, both: str
) -> None:
    for name in program.split():
        environment.program(name)
    environment.environ[given] = "from-the-server"
    env = (await environment.launcher().prepare(agent)).env
    assert env[given] == env[both] == "from-the-server"
    environment.environ[both] = "another"
    env = (await environment.launcher().prepare(agent)).env
    assert (env[given], env[both]) == ("from-the-server", "another")
    # What the instance sets decides for all names of the key, also if it wants none.
    for wanted in ("of-the-instance", ""):
        env = (await environment.launcher().prepare(agent, env={given: wanted})).env
        assert env[given] == env[both] == wanted


async def test_mock_starts_on_a_fresh_machine_even_where_files_shadow_modules(
    environment: LaunchEnvironment, tmp_path: Path
) -> None:
    hostile = tmp_path / "work"
    hostile.mkdir()
    (hostile / "json.py").write_text("raise SystemExit('shadowed')")
    spec = await environment.launcher().prepare("mock", cwd=str(hostile))
    async with open_probe(spec) as probe:
        assert (await probe.initialize(20))["protocolVersion"] == 1


async def test_mock_starts_from_a_zip(tmp_path: Path) -> None:
    """The server may run from a zip file; its child process must import the package from it."""
    source = tmp_path / "app"
    shutil.copytree(Path(sandbox_agent.__file__ or "").parent, source / "sandbox_agent", ignore=_LARGE)
    code = (
        "import asyncio, json, os\n"
        "from pathlib import Path\n"
        "from sandbox_agent.agents.catalog.catalog import Catalog\n"
        "from sandbox_agent.agents.install.layout import InstallLayout\n"
        "from sandbox_agent.agents.launch.launcher import Launcher\n"
        "launcher = Launcher(Catalog(), InstallLayout(Path('/nonexistent')), None, server_executable='x')\n"
        "spec = asyncio.run(launcher.prepare('mock', cwd='/'))\n"
        "print(json.dumps([spec.argv, spec.env.get('PYTHONPATH', '')]))\n"
    )
    (source / "__main__.py").write_text(code)
    archive = tmp_path / "app.pyz"
    zipapp.create_archive(source, archive)
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(archive), stdout=asyncio.subprocess.PIPE
    )
    output, _ = await asyncio.wait_for(process.communicate(), 30)
    argv, python_path = json.loads(output)
    assert python_path.split(os.pathsep)[0] == str(archive)
    # -S keeps the installed copy out of sight: only the zip is left to import from.
    isolated = [argv[0], "-S", *argv[1:]]
    env = {"PYTHONPATH": python_path, "HOME": str(tmp_path)}
    async with open_probe(LaunchSpec(tuple(isolated), env, "/")) as probe:
        assert (await probe.initialize(20))["protocolVersion"] == 1


@pytest.mark.parametrize("agent", ["mock", "opencode", "goose", "amp-native"])
async def test_installed_agents_are_prepared_without_waiting(
    environment: LaunchEnvironment, agent: str
) -> None:
    environment.program("opencode-acp", environment.processes)
    environment.program("goose")
    environment.program("amp")
    now = environment.launcher().spec_if_installed(agent, env={"A": "1"})
    later = await environment.launcher().prepare(agent, env={"A": "1"})
    assert now is not None
    assert (now.argv, now.env, now.cwd) == (later.argv, later.env, later.cwd)


def test_missing_agents_are_not_prepared_without_waiting(environment: LaunchEnvironment) -> None:
    del environment.environ["SANDBOX_AGENT_REQUIRE_PREINSTALL"]
    assert environment.launcher().spec_if_installed("goose") is None


def test_errors_are_raised_without_waiting(environment: LaunchEnvironment) -> None:
    with pytest.raises(AgentNotInstalled):
        environment.launcher().spec_if_installed("goose")
    with pytest.raises(UnsupportedAgent):
        environment.launcher().spec_if_installed("nobody", cwd="/")
    with pytest.raises(InvalidRequest):
        environment.launcher().spec_if_installed("mock", cwd="/", env={"A=B": "x"})


def test_starting_an_installed_agent_loads_neither_asyncio_nor_msgspec(
    environment: LaunchEnvironment,
) -> None:
    build = Path(environment.layout.builds("claude"), "1")
    build.mkdir(parents=True)
    write_manifest(build, {"version": "1.2.3", "source": "fallback"})
    text = launcher_text(["/bin/cat"], build=build, default_env={}, env={})
    write_executable(Path(environment.layout.launcher("claude")), text)
    environment.program("goose")
    code = (
        "import sys\n"
        "from sandbox_agent.agents.catalog.catalog import Catalog\n"
        "from sandbox_agent.agents.launch.launcher import Launcher\n"
        "from sandbox_agent.agents.install.layout import InstallLayout\n"
        "launcher = Launcher(Catalog(), InstallLayout(sys.argv[1]), None, server_executable='x')\n"
        "assert all(launcher.spec_if_installed(agent) for agent in ('mock', 'claude', 'goose'))\n"
        "heavy = 'asyncio msgspec httpx acp'.split()\n"
        "print([name for name in heavy if name in sys.modules])\n"
    )
    command = [sys.executable, "-c", code, str(environment.data)]
    shown = subprocess.run(command, env=environment.environ, capture_output=True, check=True, timeout=30)
    assert shown.stdout == b"[]\n"
