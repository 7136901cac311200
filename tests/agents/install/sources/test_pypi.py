"""Installs from PyPI: a virtual environment per agent, with a Python of the required version."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sandbox_agent.agents.install.command_runner import CommandFailed
from sandbox_agent.agents.install.launcher_script import write_executable
from sandbox_agent.agents.install.sources.pypi import find_python
from sandbox_agent.errors import InstallFailed
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import wheel


def agents(package: Path, python: str = "3.9") -> str:
    return f"""
[[agent]]
id = "tiny"
command = "{{root}}/venv/bin/tiny-agent"
[[agent.install]]
pypi = ["{package}"]
python = "{python}"
"""


@pytest.mark.clause("install-sources")
async def test_agent_from_a_wheel_answers(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, agents(wheel(tmp_path)))
    assert await environment.starts()
    (build,) = environment.builds()
    assert environment.build_folder(build).joinpath("venv", "bin", "tiny-agent").exists()


@pytest.mark.clause("install-sources")
async def test_missing_python_is_reported(tmp_path: Path) -> None:
    environment = InstallEnvironment(tmp_path, agents(wheel(tmp_path), python="3.99"))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "Python 3.99 or newer" in caught.value.extensions["details"]["stderr"]
    assert environment.is_untouched()


async def test_pyenv_shim_that_does_not_run_is_skipped(tmp_path: Path) -> None:
    """pyenv puts shims on PATH for versions that are not active; they exit with an error."""
    shims, real = tmp_path / "shims", tmp_path / "pyenv" / "versions" / "3.98.1" / "bin"
    shims.mkdir()
    real.mkdir(parents=True)
    write_executable(shims / "python3.14", "#!/bin/sh\necho 'command not found' >&2\nexit 127\n")
    write_executable(real / "python3", "#!/bin/sh\necho version 3 98 1\n")
    env = {"PATH": f"{shims}:/bin:/usr/bin", "HOME": str(tmp_path), "PYENV_ROOT": str(tmp_path / "pyenv")}
    assert await find_python("3.98", env) == str(real / "python3")


async def test_the_running_python_comes_first(tmp_path: Path) -> None:
    assert await find_python("3.9", {"PATH": str(tmp_path), "HOME": str(tmp_path)}) == sys.executable


async def test_python_that_hangs_is_skipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sandbox_agent.agents.install.sources.pypi._VERSION_LIMIT_S", 0.2)
    write_executable(tmp_path / "python3.14", "#!/bin/sh\nexec sleep 60\n")
    with pytest.raises(CommandFailed, match=r"Python 3\.99"):
        await find_python("3.99", {"PATH": f"{tmp_path}:/bin:/usr/bin", "HOME": str(tmp_path)})


@pytest.mark.clause("install-sources")
async def test_uv_is_used_if_it_is_on_path(tmp_path: Path) -> None:
    """A fake uv that records its arguments."""
    (tmp_path / "bin").mkdir()
    log = tmp_path / "uv.log"
    write_executable(tmp_path / "bin" / "uv", f'#!/bin/sh\necho "$@" >> {log}\n')
    environment = InstallEnvironment(tmp_path, agents(Path("tiny==1"), python="3.12"))
    environment.environ["PATH"] = f"{tmp_path / 'bin'}:{environment.environ['PATH']}"
    with pytest.raises(InstallFailed):
        await environment.installer().install("tiny")
    make, fill = log.read_text().splitlines()
    assert make.startswith("venv --quiet --python >=3.12 ")
    assert fill.startswith("pip install ") and fill.endswith("-- tiny==1")
