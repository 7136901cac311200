"""`sandbox-agent install-agent`: the answer on stdout, progress and faults on stderr, bars on a terminal."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pexpect
import pytest

from tests.agents.install_house import InstallHouse
from tests.agents.tiny_agent import npm_agent, npm_package

COMMAND = [sys.executable, "-m", "sandbox_agent", "install-agent"]


@pytest.fixture
def house(tmp_path: Path) -> InstallHouse:
    broken = npm_package(tmp_path / "broken", at_start="console.error('no licence'); process.exit(7);")
    house = InstallHouse(tmp_path, npm_agent(npm_package(tmp_path)) + npm_agent(broken, "broken"))
    house.environ |= {
        "XDG_DATA_HOME": str(tmp_path / "share"),
        "SANDBOX_AGENT_AGENTS_FILE": str(house.agents_file),
        "TERM": "xterm",
    }
    return house


def run(house: InstallHouse, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *words], env=house.environ, capture_output=True, text=True, timeout=50, check=False
    )


def test_answer_is_that_of_the_api(house: InstallHouse, tmp_path: Path) -> None:
    done = run(house, "tiny")
    launcher = tmp_path / "share" / "sandbox-agent" / "bin" / "agent_processes" / "tiny-acp"
    artifact = {"kind": "agent_process", "path": str(launcher), "source": "fallback"}
    assert json.loads(done.stdout) == {"already_installed": False, "artifacts": [artifact]}
    assert "tiny is installed" in done.stderr and done.returncode == 0
    assert json.loads(run(house, "tiny").stdout) == {"already_installed": True, "artifacts": []}


def test_failure_says_why_and_exits_with_1(house: InstallHouse) -> None:
    done = run(house, "broken")
    assert done.returncode == 1 and not done.stdout
    assert "install failed: broken" in done.stderr and "no licence" in done.stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([], 2, "name an agent"),
        (["nobody"], 1, "unsupported agent: nobody"),
        (["tiny", "--agents-file", "/nonexistent.toml"], 1, "cannot be read"),
        (["tiny", "--agent-process-version", "../x"], 1, "is not a version"),
    ],
)
def test_mistake_is_named(house: InstallHouse, words: list[str], code: int, said: str) -> None:
    done = run(house, *words)
    assert (done.returncode, done.stdout) == (code, "") and said in done.stderr


def test_terminal_shows_a_bar(house: InstallHouse) -> None:
    terminal = pexpect.spawn(
        COMMAND[0], [*COMMAND[1:], "tiny"], env=house.environ, timeout=50, encoding="utf-8"
    )
    terminal.expect("100%")
    terminal.expect('"already_installed": false')
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
