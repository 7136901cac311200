"""One server for generated input; it can write to a temporary directory only."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.conformance.conftest import end_of
from tests.support.server_process import ServerProcess


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    directory = tmp_path_factory.mktemp("fuzz")
    process = ServerProcess(directory, arguments=["--replay-max-events", "100000"], isolated=True)
    try:
        yield process.ready()
        assert "Traceback" not in process.log(), process.log()[-4000:]
    finally:
        problems = end_of(process)
    assert not problems, problems
