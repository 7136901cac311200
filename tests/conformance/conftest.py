"""Which server the suite talks to, and the rule that a test leaves nothing behind.

Each test runs twice: against `sandbox-agent server` with its own HTTP server, and against the ASGI
application under uvicorn. Tests marked `own_server` are about the server command itself (parsing, limits of a
request head, flags, signals, the end of the server) and run once.

SANDBOX_AGENT_CONFORMANCE_COMMAND runs another server command instead, the reference for example;
SANDBOX_AGENT_CONFORMANCE_URL (with _TOKEN and _DATA_HOME, the XDG data directory in which agents can be
placed) uses a server that is already running, and tests that must start one are skipped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.process_api import Processes
from tests.support.clients.raw_http import Client
from tests.support.processes import open_descriptors, wait_until, zombies_of
from tests.support.server_process import (
    COMMAND_VARIABLE,
    HttpServer,
    ServerProcess,
    place_launcher,
    scripted_launcher,
)

URL = os.environ.get("SANDBOX_AGENT_CONFORMANCE_URL")
TOKEN = os.environ.get("SANDBOX_AGENT_CONFORMANCE_TOKEN")
DATA_HOME = os.environ.get("SANDBOX_AGENT_CONFORMANCE_DATA_HOME")
# Another product's server is tested, but not checked for leaks.
IS_FOREIGN = COMMAND_VARIABLE in os.environ or URL is not None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "http_server" in metafunc.fixturenames:
        once = IS_FOREIGN or metafunc.definition.get_closest_marker("own_server") is not None
        servers = [HttpServer.OWN] if once else list(HttpServer)
        metafunc.parametrize("http_server", servers, indirect=True, scope="session", ids=lambda s: s.value)


@pytest.fixture(scope="session")
def http_server(request: pytest.FixtureRequest) -> HttpServer:
    """What serves HTTP in the servers of this test."""
    chosen: HttpServer = getattr(request, "param", HttpServer.OWN)
    return chosen


@dataclass
class Target:
    """The server under test: its address, and its process if the tests started it."""

    client: Client
    acp: Acp
    data_home: Path
    process: ServerProcess | None


@dataclass(frozen=True)
class Footprint:
    processes: frozenset[int]
    descriptors: int
    tasks: int

    @classmethod
    def of(cls, process: ServerProcess) -> Footprint:
        return cls(frozenset(process.marked_processes()), open_descriptors(process.pid), len(process.tasks()))

    def covers(self, other: Footprint, http_server: HttpServer) -> bool:
        """Whether `other` has nothing more; of uvicorn's own descriptors and tasks nothing is expected."""
        return other.processes <= self.processes and (
            http_server is HttpServer.UVICORN
            or (other.descriptors <= self.descriptors and other.tasks <= self.tasks)
        )


@pytest.fixture(scope="session")
def shared_target(tmp_path_factory: pytest.TempPathFactory, http_server: HttpServer) -> Iterator[Target]:
    if URL is not None:
        parts = urlsplit(URL)
        assert parts.hostname and parts.port and DATA_HOME, "give a URL with a port, and the data directory"
        for agent in (AGENT, "pi"):
            place_launcher(Path(DATA_HOME), agent, scripted_launcher())
        client = Client(parts.hostname, parts.port, TOKEN)
        yield Target(client, Acp(client), Path(DATA_HOME), None)
        return
    process = ServerProcess(tmp_path_factory.mktemp("shared-server"), http_server=http_server)
    try:
        process.ready()
        if not IS_FOREIGN:
            process.acp.delete(process.acp.start())
            wait_until(lambda: len(process.acp.list()) == 0, 5, "the end of the warm-up instance")
        yield Target(process.client, process.acp, process.data_home, process)
    finally:
        process.stop()
        process.kill_leftovers()


@pytest.fixture(scope="session")
def resting_footprint(shared_target: Target) -> Footprint | None:
    process = shared_target.process
    if process is None or IS_FOREIGN:
        return None
    agents = lambda: [line for line in process.marked_processes().values() if "scripted_agent" in line]  # noqa: E731
    wait_until(lambda: not agents(), 6, "the end of the warm-up agent")
    if process.http_server is HttpServer.OWN:
        wait_until(lambda: not process.tasks(), 6, "a server without tasks")
    return Footprint.of(process)


@pytest.fixture
def target(shared_target: Target, resting_footprint: Footprint | None) -> Iterator[Target]:
    """The shared server; afterwards every instance is closed and nothing may be left of it."""
    yield shared_target
    process = shared_target.process
    if resting_footprint is None or process is None:
        if process is not None:
            for pid in set(process.marked_processes()) - {process.pid}:
                with suppress(ProcessLookupError):
                    os.kill(pid, 9)
            for row in shared_target.acp.list():
                shared_target.acp.delete(row["serverId"])
        return
    acp = shared_target.acp
    for row in acp.list():
        assert acp.delete(row["serverId"]).status == 204

    def at_rest() -> bool:
        now = Footprint.of(process)
        return resting_footprint.covers(now, process.http_server) and not zombies_of(process.pid)

    try:
        wait_until(at_rest, 8, "a server at rest")
    except AssertionError:
        left = {
            pid: line
            for pid, line in process.marked_processes().items()
            if pid not in resting_footprint.processes
        }
        raise AssertionError(
            f"left behind: processes {left}, zombies {zombies_of(process.pid)}, "
            f"descriptors {open_descriptors(process.pid)} instead of {resting_footprint.descriptors}, "
            f"tasks {process.tasks()}"
        ) from None


@pytest.fixture
def acp(target: Target) -> Acp:
    return target.acp


@pytest.fixture
def client(target: Target) -> Client:
    return target.client


@pytest.fixture
def processes(target: Target) -> Iterator[Processes]:
    """The processes of the shared server; afterwards none is left."""
    api = Processes(target.client)
    yield api
    api.clean_up()


@pytest.fixture
def server_id(acp: Acp) -> str:
    """An instance with a living scripted agent."""
    return acp.start()


def end_of(process: ServerProcess) -> list[str]:
    """Stop a server of a test; returns what was wrong with its end: its exit code, or processes it left."""
    was_running = process.process.poll() is None
    code = process.stop()
    problems = []
    if not IS_FOREIGN:
        # uvicorn ends by the signal that stopped it.
        if was_running and code != 0 and process.http_server is HttpServer.OWN:
            problems.append(f"exit code {code} instead of 0: {process.log()[-2000:]}")
        try:
            wait_until(lambda: not process.marked_processes(), 5, "no process left")
        except AssertionError:
            problems.append(f"left behind: {process.marked_processes()}")
    process.kill_leftovers()
    return problems


@pytest.fixture
def start_server(tmp_path: Path, http_server: HttpServer) -> Iterator[Callable[..., ServerProcess]]:
    """Start servers with settings of their own; afterwards they end cleanly and leave no process."""
    if URL is not None:
        pytest.skip("this test starts a server of its own")
    started: list[ServerProcess] = []

    def start(*, wait: bool = True, **options: Any) -> ServerProcess:
        process = ServerProcess(tmp_path / f"server-{len(started)}", http_server=http_server, **options)
        started.append(process)
        return process.ready() if wait else process

    yield start
    problems = [problem for process in started for problem in end_of(process)]
    assert not problems, problems


@pytest.fixture(scope="module")
def module_server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, http_server: HttpServer
) -> Iterator[ServerProcess]:
    """One server for a whole file, with the settings in the file's SETTINGS."""
    if URL is not None:
        pytest.skip("this test starts a server of its own")
    directory, settings = tmp_path_factory.mktemp("module-server"), request.module.SETTINGS
    process = ServerProcess(directory, settings=settings, http_server=http_server)
    try:
        yield process.ready()
    finally:
        problems = end_of(process)
    assert not problems, problems
