"""`sandbox-agent install-agent`: result on stdout, progress and errors on stderr, bars on a terminal."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.launcher_script import write_executable
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package
from tests.support.processes import unique_sleep, wait_until, with_words

COMMAND = [sys.executable, "-m", "sandbox_agent", "install-agent"]


@pytest.fixture
def environment(tmp_path: Path) -> InstallEnvironment:
    broken = npm_package(tmp_path / "broken", at_start="console.error('no licence'); process.exit(7);")
    environment = InstallEnvironment(tmp_path, npm_agent(npm_package(tmp_path)) + npm_agent(broken, "broken"))
    environment.environ |= {
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "SANDBOX_AGENT_AGENTS_FILE": str(environment.agents_file),
        "TERM": "xterm",
    }
    return environment


def run(environment: InstallEnvironment, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], env=environment.environ, capture_output=True, text=True, timeout=160, check=False
    )


def test_output_equals_the_response_of_the_api(environment: InstallEnvironment, tmp_path: Path) -> None:
    done = run(environment, "tiny")
    launcher = tmp_path / "share" / "sandbox-agent" / "bin" / "agent_processes" / "tiny-acp"
    artifact = {"kind": "agent_process", "path": str(launcher), "source": "fallback"}
    assert json.loads(done.stdout) == {"already_installed": False, "artifacts": [artifact]}
    assert "tiny is installed" in done.stderr and done.returncode == 0
    assert json.loads(run(environment, "tiny").stdout) == {"already_installed": True, "artifacts": []}


def test_failure_says_why_and_exits_with_1(environment: InstallEnvironment) -> None:
    done = run(environment, "broken")
    assert done.returncode == 1 and not done.stdout
    assert "install failed: broken" in done.stderr and "no licence" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "name an agent"),
        (["unknown-agent"], 1, "unsupported agent: unknown-agent"),
        (["tiny", "--agents-file", "/nonexistent.toml"], 1, "cannot be read"),
        (["tiny", "--agent-process-version", "../x"], 1, "is not a version"),
        (["tiny", "--all"], 2, "not both"),
        (["--all", "--agent-version", "1.0"], 2, "chosen for one agent"),
    ],
)
def test_invalid_arguments_are_reported(
    environment: InstallEnvironment, words: list[str], code: int, said: str
) -> None:
    done = run(environment, *words)
    assert (done.returncode, done.stdout) == (code, "") and said in done.stderr


def test_terminal_shows_a_bar(environment: InstallEnvironment) -> None:
    terminal = pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], "tiny"], env=environment.environ, timeout=50, encoding="utf-8"
    )
    terminal.expect("100%")
    terminal.expect('"already_installed": false')
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0


class ReplacedCatalogue:
    """A catalogue whose agents are all replaced by tiny ones, two of which cannot be installed."""

    broken, unreachable = "codex", "cursor"

    def __init__(self, directory: Path, environment: InstallEnvironment) -> None:
        self.environment = environment
        catalog = Catalog()
        self.agents = [a for a in catalog.ids() if catalog.get(a).install or catalog.get(a).registry]
        good, bad = npm_package(directory), npm_package(directory / "bad", at_start="process.exit(7);")
        tables = [
            npm_agent(bad if agent == self.broken else good, agent, on_path="[]", registry="[]")
            for agent in self.agents
            if agent != self.unreachable and not agent.endswith("-native")
        ]
        environment.agents_file.write_text("".join(tables))
        environment.environ["SANDBOX_AGENT_ACP_REGISTRY_URL"] = "http://127.0.0.1:9/registry.json"
        # The vendors' programs are on PATH, where the adapters find them.
        programs = directory / "programs"
        programs.mkdir()
        for name in ("claude", "codex", "opencode", "amp"):
            write_executable(programs / name, "#!/bin/sh\n")
        environment.environ["PATH"] = f"{programs}:{environment.environ['PATH']}"


@pytest.fixture
def replaced(environment: InstallEnvironment, tmp_path: Path) -> ReplacedCatalogue:
    return ReplacedCatalogue(tmp_path, environment)


@pytest.mark.clause("cli-install-all")
@pytest.mark.timeout(180)
def test_all_installs_every_agent_reports_failures_and_shows_a_bar_for_each(
    replaced: ReplacedCatalogue,
) -> None:
    done = run(replaced.environment, "--all")
    answers = json.loads(done.stdout)["agents"]
    assert [answer["id"] for answer in answers] == replaced.agents
    failed = {answer["id"]: answer["error"] for answer in answers if "error" in answer}
    assert set(failed) == {replaced.broken, replaced.unreachable}
    assert {error["type"] for error in failed.values()} == {"urn:sandbox-agent:error:install_failed"}
    there = [answer["id"] for answer in answers if answer.get("already_installed")]
    assert there == ["claude-native", "codex-native", "opencode-native", "amp-native"]
    assert all(answer["artifacts"] for answer in answers if answer.get("already_installed") is False)
    lines = done.stderr.splitlines()
    fresh = len(answers) - 6
    assert lines[-1] == f"{len(answers)} agents: {fresh} installed, 4 already there, 2 failed (codex, cursor)"
    assert {"codex: failed", "cursor: failed", "claude-native: already installed"} <= set(lines)
    assert "exit code 7" in done.stderr and "cannot be reached" in done.stderr
    assert done.returncode == 1 and "\x1b" not in done.stderr
    terminal = pexpect.spawn(
        *(COMMAND[0], [*COMMAND[1:], "all"]),
        env=replaced.environment.environ,
        timeout=100,
        encoding="utf-8",
        dimensions=(60, 140),
    )
    shown = terminal.read()
    terminal.close()
    assert terminal.exitstatus == 1
    screen = plain_lines(shown)
    for agent in replaced.agents:
        words = "failed" if agent in failed else "100% already installed"
        assert any(line.split()[:1] == [agent] and words in " ".join(line.split()) for line in screen), agent
    assert f"0 installed, {fresh + 4} already there, 2 failed (codex, cursor)" in shown


def plain_lines(shown: str) -> list[str]:
    """What a terminal was shown, without colours."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r", "\n").splitlines()


@pytest.mark.clause("cli-install-all")
def test_interrupt_stops_the_install_and_removes_its_files(
    environment: InstallEnvironment, tmp_path: Path
) -> None:
    seconds = unique_sleep()
    npm_package(tmp_path, scripts={"postinstall": f"setsid sleep {seconds}"})
    command = subprocess.Popen([*COMMAND, "tiny"], env=environment.environ, stderr=subprocess.PIPE)
    wait_until(lambda: with_words("sleep", seconds), 30, "the install script")
    command.send_signal(signal.SIGINT)
    _, said = command.communicate(timeout=20)
    assert command.returncode == 130, said
    assert not with_words("sleep", seconds)
    assert not list((tmp_path / "share" / "sandbox-agent" / "bin" / "agent_processes" / "tiny").iterdir())
