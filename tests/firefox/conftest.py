"""One Firefox and one server for all tests of this folder; a fresh storage for each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.firefox.firefox_page import FirefoxPage
from tests.firefox.webdriver import Firefox
from tests.support.server_process import ServerProcess


@pytest.fixture(scope="package")
def firefox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firefox]:
    started = Firefox(tmp_path_factory.mktemp("firefox"))
    yield started
    started.close()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("inspector"), token=None) as started:
        yield started


@pytest.fixture
def page(firefox: Firefox, server: ServerProcess) -> Iterator[FirefoxPage]:
    opened = FirefoxPage(firefox, f"http://127.0.0.1:{server.port}")
    opened.open()
    yield opened
    assert opened.violations() == []
    opened.close()
    for entry in server.acp.list():
        server.acp.delete(entry["serverId"])
