"""A machine without Node: everything an agent needs is fetched. Slow, so only in the full run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_agent.agents.catalog import Catalog
from sandbox_agent.agents.install import Installer
from sandbox_agent.agents.layout import Layout

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        not os.environ.get("SANDBOX_AGENT_TEST_FULL"), reason="downloads Node; in --full only"
    ),
]
_OF_NODE = {"node", "nodejs", "npm", "npx", "corepack"}


def path_without_node(directory: Path) -> Path:
    """A folder with every program of PATH but those of Node."""
    directory.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in os.listdir(folder) if os.path.isdir(folder) else ():
            link = directory / name
            if name not in _OF_NODE and not link.is_symlink():
                link.symlink_to(Path(folder, name))
    return directory


async def test_pi_is_installed_and_starts_where_there_is_no_node(tmp_path: Path) -> None:
    environ = {**os.environ, "PATH": str(path_without_node(tmp_path / "path"))}
    installer = Installer(Catalog(), Layout(tmp_path / "data"), environ=environ)
    steps: list[str] = []
    result = await installer.install("pi", progress=lambda progress: steps.append(progress.step))
    assert not result.already_installed and steps[0] == "node" and steps[-1] == "done"
