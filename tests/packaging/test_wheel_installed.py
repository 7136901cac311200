"""The wheel in an empty environment: command, server, page, SDK."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from .program import Program, fetch, initialized

# What is built and installed once counts for the first test that needs it.
pytestmark = pytest.mark.timeout(300)

SCRIPT = """
from sandbox_agent import SandboxAgent

with SandboxAgent.start() as client:
    session = client.sessions.create("mock")
    print(session.prompt("echo from the SDK").text)
"""


@pytest.fixture
def program(installed: Path, tmp_path: Path) -> Program:
    return Program([str(installed / "sandbox-agent")], tmp_path / "home")


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_run_answers(program: Program) -> None:
    done = program.run("run", "mock", "echo hello")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_the_server_has_its_page(program: Program) -> None:
    with program.server() as url:
        page = fetch(f"{url}/ui/")
        assert b"<script" in page
        script = page.split(b'src="')[1].split(b'"')[0].decode()
        assert len(fetch(url + "/ui/" + script.removeprefix("./").removeprefix("/ui/"))) > 10_000


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_the_sdk_starts_its_own_server(installed: Path, program: Program) -> None:
    done = subprocess.run(
        [str(installed / "python"), "-c", SCRIPT],
        env=program.environment,
        cwd=program.home,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout) == (0, "from the SDK\n"), done.stderr


@pytest.mark.clause("sdk-light-import")
def test_the_sdk_does_not_load_the_command_line_of_httpx(installed: Path, program: Program) -> None:
    script = (
        "import sys, sandbox_agent.sdk.api\n"
        "print('httpx' in sys.modules, sys.modules.keys() & {'httpx._main', 'rich', 'pygments'})"
    )
    words = [str(installed / "python"), "-c", script]
    done = subprocess.run(
        words, env=program.environment, cwd=program.home, capture_output=True, text=True, timeout=60
    )
    assert done.stdout == "True set()\n", done.stderr


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_nothing_of_it_comes_from_the_checkout(installed: Path, program: Program) -> None:
    words = [str(installed / "python"), "-c", "import sandbox_agent; print(sandbox_agent.__file__)"]
    done = subprocess.run(
        words, env=program.environment, cwd=program.home, capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith(str(installed.parent))


@pytest.mark.clause("adapters-from-wheel-and-single-file")
def test_a_native_adapter_answers_through_the_server(program: Program, tmp_path: Path) -> None:
    """Found by the program on PATH; the adapter is started from the wheel."""
    assert initialized(program, tmp_path / "bin")["agentInfo"]["name"] == "claude-native"
