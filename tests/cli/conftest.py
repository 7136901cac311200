"""Fixtures of the command line tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.sandbox_directory import Place, Result
from tests.support.server_process import ServerProcess

TOKEN = "token-of-the-command-line-tests"


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    place = Place(tmp_path)
    yield place
    place.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for the tests of a module that only read, or that use names of their own."""
    process = ServerProcess(tmp_path_factory.mktemp("server"), token=TOKEN).ready()
    yield process
    process.stop()


class Api:
    """`sandbox-agent api ...` against the server of the module."""

    def __init__(self, place: Place, server: ServerProcess) -> None:
        self.place, self.server = place, server
        self.environment = {
            "SANDBOX_AGENT_URL": f"http://127.0.0.1:{server.port}",
            "SANDBOX_AGENT_TOKEN": TOKEN,
        }

    def __call__(self, *words: str, stdin: str | bytes = b"") -> Result:
        return self.place.run("api", *words, stdin=stdin, environment=self.environment)


@pytest.fixture
def api(place: Place, server: ServerProcess) -> Api:
    return Api(place, server)
