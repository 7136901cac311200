"""The official SDKs' clients, unchanged, against /acp: every exercise over both transports."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.remote_clients.conftest import EXERCISES
from tests.support.processes import wait_until
from tests.support.server_process import HttpServer, ServerProcess


@pytest.fixture(scope="module", params=list(HttpServer), ids=lambda server: server.value)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("server"), http_server=request.param)
    with process:
        yield process


@pytest.mark.timeout(200)
@pytest.mark.clause("remote-official-clients")
@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.parametrize("client", ["typescript", "python"])
def test_every_exercise_of_every_client_passes(
    server: ServerProcess, run_client: Callable[..., dict[str, str]], client: str, transport: str
) -> None:
    seen = run_client(client, transport, f"127.0.0.1:{server.port}/acp/mock", server.token)
    assert seen == dict.fromkeys(EXERCISES, "ok")
    wait_until(lambda: server.acp.list() == [], 10, "the end of every agent")
