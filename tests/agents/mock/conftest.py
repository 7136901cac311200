"""The fixture that starts mock agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.mock.mock_process import Start, mock_processes


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start mock agents that share a state directory; all are stopped at the end of the test."""
    with mock_processes(tmp_path / "state") as start:
        yield start
