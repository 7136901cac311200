"""Installs on machines without Node.js and with uv. The downloads are slow, so only in the full run."""

from __future__ import annotations

import asyncio
import os
import subprocess
import venv
from pathlib import Path

import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.installer import Installer
from sandbox_agent.agents.install.layout import InstallLayout

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.full,  # downloads Node or uv
]
_OF_NODE = {"node", "nodejs", "npm", "npx", "corepack"}


def path_without_node(directory: Path) -> Path:
    """A folder with every program of PATH except those of Node.js."""
    directory.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            link = directory / name
            if name not in _OF_NODE and not link.is_symlink():
                link.symlink_to(Path(folder, name))
    return directory


async def test_pi_is_installed_and_starts_where_there_is_no_node(tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": str(path_without_node(tmp_path / "path"))}
    installer = Installer(Catalog(), InstallLayout(tmp_path / "data"), environ=environ)
    steps: list[str] = []
    result = await installer.install("pi", progress=lambda progress: steps.append(progress.step))
    assert not result.already_installed and steps[0] == "node" and steps[-1] == "done"


async def test_amp_is_installed_by_a_real_uv(tmp_path: Path) -> None:
    bare = await asyncio.to_thread(uv_alone, tmp_path)
    environ = {**os.environ, "PATH": f"{bare}{os.pathsep}{os.environ['PATH']}"}
    layout = InstallLayout(tmp_path / "data")
    result = await Installer(Catalog(), layout, environ=environ).install("amp")
    assert not result.already_installed
    # uv writes its name into the environments it creates, and installs no pip there.
    (config,) = (tmp_path / "data").glob("bin/agent_processes/amp/*/venv/pyvenv.cfg")
    assert "uv = " in config.read_text() and not (config.parent / "bin" / "pip").exists()


def uv_alone(directory: Path) -> Path:
    """A folder with nothing but a real uv."""
    venv.create(directory / "uv", with_pip=True)
    pip = [str(directory / "uv" / "bin" / "python"), "-m", "pip", "install", "--quiet", "uv"]
    subprocess.run(pip, check=True, timeout=200)
    folder = directory / "programs"
    folder.mkdir()
    (folder / "uv").symlink_to(directory / "uv" / "bin" / "uv")
    return folder
