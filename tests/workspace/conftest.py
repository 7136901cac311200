from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.workspace.files.workspace import Workspace


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


@pytest.fixture
def workspace(home: Path) -> Iterator[Workspace]:
    """Free to go anywhere, as without --fs-root."""
    workspace = Workspace(home=str(home), cwd=str(home))
    yield workspace
    workspace.close()


@pytest.fixture
def bounded(home: Path) -> Iterator[Workspace]:
    """Bound to the home directory by --fs-root."""
    workspace = Workspace(str(home), home=str(home))
    yield workspace
    workspace.close()


@pytest.fixture(autouse=True)
def no_descriptor_is_left_open() -> Iterator[None]:
    before = len(os.listdir("/proc/self/fd"))
    yield
    # The fixtures above hold one each while this runs or not, depending on their order.
    assert len(os.listdir("/proc/self/fd")) <= before + 2
