"""How the `sandbox-agent` command is started again: by the daemon, and by agents for tools of a client."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sandbox_agent.runtime.server_executable import server_command


@pytest.mark.parametrize("name", ["sandbox-agent", "sandbox-agent.pyz"])
def test_an_executable_file_starts_by_itself(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name
    program.touch(0o755)
    monkeypatch.setattr(sys, "argv", [str(program), "server"])
    assert server_command() == [str(program)]


def test_an_archive_that_is_not_executable_is_started_with_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = tmp_path / "sandbox-agent.pyz"
    archive.touch(0o644)
    monkeypatch.setattr(sys, "argv", [str(archive), "server"])
    assert server_command() == [sys.executable, str(archive)]


def test_without_a_script_the_module_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "python").touch(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "__main__.py"), "server"])
    assert server_command() == [sys.executable, "-m", "sandbox_agent"]
