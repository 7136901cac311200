"""Servers of their own for attacks; each must end cleanly and leave no process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.conftest import end_of, http_server, start_server
from tests.security.processes.sleepers import Sleepers
from tests.support.server_process import ServerProcess

__all__ = ["http_server", "server", "start_server"]


@pytest.fixture
def sleepers() -> Iterator[Sleepers]:
    sleepers = Sleepers()
    yield sleepers
    sleepers.kill()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for a whole file, bound to a directory of its own."""
    directory = tmp_path_factory.mktemp("security")
    (directory / "home").mkdir()
    process = ServerProcess(directory, arguments=["--fs-root", str(directory / "home")])
    try:
        yield process.ready()
    finally:
        problems = end_of(process)
    assert not problems, problems
