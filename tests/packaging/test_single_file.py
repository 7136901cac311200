"""`sandbox-agent.pyz` where there is nothing but a Python."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from .conftest import Built
from .program import Program, fetch, initialized

# What is built and installed once counts for the first test that needs it.
pytestmark = pytest.mark.timeout(300)

BARE_PYTHON = [str(Path(sys.base_prefix) / "bin" / f"python3.{sys.version_info.minor}"), "-I", "-S"]


@pytest.fixture
def program(built: Built, tmp_path: Path) -> Program:
    return Program([*BARE_PYTHON, str(built.archive)], tmp_path / "home")


def _unpacked(program: Program) -> list[Path]:
    return list((program.home / ".cache" / "sandbox-agent").glob("*"))


@pytest.mark.clause("packaging-single-file")
def test_run_answers_and_unpacks_only_once(program: Program) -> None:
    done = program.run("run", "mock", "echo hello")
    assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr
    (home,) = _unpacked(program)
    before = home.stat().st_mtime_ns
    assert program.run("--version").stdout.startswith("sandbox-agent ")
    assert [path.stat().st_mtime_ns for path in _unpacked(program)] == [before]


@pytest.mark.clause("packaging-single-file")
def test_server_page_and_daemon(program: Program) -> None:
    with program.server() as url:
        assert b"<script" in fetch(f"{url}/ui/")
    port = url.rpartition(":")[2]
    assert program.run("daemon", "start", "--port", port).returncode == 0
    assert program.run("daemon", "status", "--port", port).returncode == 0
    assert program.run("daemon", "stop", "--port", port).returncode == 0


@pytest.mark.clause("adapters-from-wheel-and-single-file")
def test_a_native_adapter_answers_through_the_server(program: Program, tmp_path: Path) -> None:
    assert initialized(program, tmp_path / "bin")["agentInfo"]["name"] == "claude-native"
    assert "claude|codex|opencode|amp" in program.run("adapter", "--help").stdout


@pytest.mark.clause("packaging-single-file")
def test_two_first_starts_at_once_do_no_harm(program: Program) -> None:
    words = [*program.command, "--version"]
    starts = [
        subprocess.Popen(words, env=program.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    outputs = [start.communicate(timeout=120) for start in starts]
    assert [start.returncode for start in starts] == [0, 0], outputs
    assert len(_unpacked(program)) == 1


@pytest.mark.clause("packaging-single-file")
def test_a_home_that_cannot_be_written_is_no_obstacle(program: Program) -> None:
    program.environment["HOME"] = "/proc/nowhere"
    done = program.run("--version")
    assert done.returncode == 0, done.stderr
    temporary = Path(program.environment["TMPDIR"]) / f"sandbox-agent-{os.getuid()}"
    assert temporary.stat().st_mode & 0o777 == 0o700


@pytest.mark.clause("packaging-single-file")
def test_a_directory_that_others_may_write_to_is_not_trusted(program: Program) -> None:
    program.environment["HOME"] = "/proc/nowhere"
    trap = Path(program.environment["TMPDIR"]) / f"sandbox-agent-{os.getuid()}"
    trap.mkdir()
    trap.chmod(0o777)
    done = program.run("--version")
    assert done.returncode == 1
    assert "XDG_CACHE_HOME" in done.stderr


@pytest.mark.clause("packaging-single-file")
def test_an_archive_for_another_python_says_so(built: Built, tmp_path: Path) -> None:
    other = tmp_path / "other.pyz"
    with zipfile.ZipFile(built.archive) as source, zipfile.ZipFile(other, "w") as target:
        for name in source.namelist():
            if "msgspec" not in name:
                target.writestr(name, source.read(name))
    program = Program([*BARE_PYTHON, str(other)], tmp_path / "home")
    done = program.run("--version")
    assert done.returncode == 1
    assert "was not built for Python 3." in done.stderr
    assert _unpacked(program) == []
