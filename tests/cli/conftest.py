"""Fixtures of the command line tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.sandbox_directory import Result, SandboxDirectory
from tests.support.server_process import ServerProcess

TOKEN = "token-of-the-command-line-tests"


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[SandboxDirectory]:
    sandbox = SandboxDirectory(tmp_path)
    yield sandbox
    sandbox.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """One server for the tests of a module that only read, or that use names of their own."""
    process = ServerProcess(tmp_path_factory.mktemp("server"), token=TOKEN).ready()
    yield process
    process.stop()


class Api:
    """`sandbox-agent api ...` against the server of the module."""

    def __init__(self, sandbox: SandboxDirectory, server: ServerProcess) -> None:
        self.sandbox, self.server = sandbox, server
        self.environment = {
            "SANDBOX_AGENT_URL": f"http://127.0.0.1:{server.port}",
            "SANDBOX_AGENT_TOKEN": TOKEN,
        }

    def __call__(self, *words: str, stdin: str | bytes = b"") -> Result:
        return self.sandbox.run("api", *words, stdin=stdin, environment=self.environment)


@pytest.fixture
def api(sandbox: SandboxDirectory, server: ServerProcess) -> Api:
    return Api(sandbox, server)
