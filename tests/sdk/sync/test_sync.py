"""The synchronous client: the same surface, usable in threads and inside a running loop."""

from __future__ import annotations

import asyncio
import gc
import inspect
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import (
    AgentExitedError,
    ClientClosedError,
    PermissionRequest,
    SandboxAgent,
    SessionEndedError,
    asgi,
    auto_approve,
)
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.resources.acp import AsyncAcp
from sandbox_agent.sdk.resources.acp_client import AsyncAcpClient
from sandbox_agent.sdk.resources.agents import AsyncAgents
from sandbox_agent.sdk.resources.config import AsyncConfigEntries
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.sdk.session.sessions import AsyncSessions
from sandbox_agent.sdk.session.turns.turn import AsyncTurn
from sandbox_agent.sdk.sync.resources.acp import Acp
from sandbox_agent.sdk.sync.resources.acp_client import AcpClient
from sandbox_agent.sdk.sync.resources.agents import Agents
from sandbox_agent.sdk.sync.resources.config import ConfigEntries
from sandbox_agent.sdk.sync.resources.files import Files
from sandbox_agent.sdk.sync.session.session import Session
from sandbox_agent.sdk.sync.session.sessions import Sessions
from sandbox_agent.sdk.sync.session.turns.turn import Turn

ROOT = Path(__file__).parents[3]
TWINS = [
    (AsyncSandboxAgent, SandboxAgent),
    (AsyncSession, Session),
    (AsyncSessions, Sessions),
    (AsyncTurn, Turn),
    (AsyncFiles, Files),
    (AsyncAgents, Agents),
    (AsyncAcp, Acp),
    (AsyncAcpClient, AcpClient),
    (AsyncConfigEntries, ConfigEntries),
]
# Called by the turn queue, the connection or the client, not by users; and attributes of an instance.
INTERNAL = {
    AsyncTurn: {"start", "take", "make_result", "give_up", "settled", "until_idle"},
    AsyncAcpClient: {"message_received", "events_lost", "instance_lost"},
    AsyncSessions: {"aclose", "opened", "closed"},
}
OF_AN_INSTANCE = {SandboxAgent: {"store"}, AcpClient: {"server_id", "init_result"}}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    return tmp_path


@pytest.fixture
def client(home: Path) -> Iterator[SandboxAgent]:
    with SandboxAgent.start(asgi(), default_directory=str(home), on_permission=auto_approve) as made:
        yield made


@pytest.mark.clause("sdk-both-clients")
def test_the_synchronous_classes_are_generated_from_the_asynchronous_ones() -> None:
    check = [sys.executable, str(ROOT / "scripts" / "sync_sdk.py"), "--check"]
    run = subprocess.run(check, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr


@pytest.mark.clause("sdk-both-clients")
@pytest.mark.parametrize(("asynchronous", "synchronous"), TWINS)
def test_both_sides_have_the_same_surface(asynchronous: type[Any], synchronous: type[Any]) -> None:
    def surface(kind: type[Any]) -> dict[str, list[str]]:
        hidden = INTERNAL.get(kind, set()) | OF_AN_INSTANCE.get(kind, set())
        names = [name for name in dir(kind) if not name.startswith("_") and name not in hidden]
        members = {name: getattr(kind, name) for name in names}
        return {
            "close" if name == "aclose" else name: list(inspect.signature(member).parameters)
            if callable(member)
            else []
            for name, member in members.items()
        }

    assert surface(synchronous) == surface(asynchronous)


@pytest.mark.clause("spec2-3-health-and-agents", "sdk-asgi")
def test_prompts_streams_and_files_work_without_a_loop(client: SandboxAgent, home: Path) -> None:
    session = client.sessions.create("mock")
    assert "allow_once" in session.prompt("permission").text
    with session.stream("stream 3 5") as turn:
        assert "".join(turn.text_deltas) == "chunk 1\nchunk 2\nchunk 3\n"
    with session.stream("stream 3 5") as turn:
        assert [event.type for event in turn][-1] == "turn.ended"
    with session.stream("stream 100000 5") as turn:
        for _ in turn.text_deltas:
            break
    assert turn.result().stop_reason == "cancelled"
    client.fs.write(str(home / "f"), b"data")
    with client.fs.stream(str(home / "f")) as chunks:
        assert b"".join(chunks) == b"data"
    assert client.agents.get("mock").installed and client.health()["status"] == "ok"
    assert [record.id for record in client.sessions.list()] == [session.id]
    assert session.info.event_count == len(session.events(limit=1000))
    session.terminate()
    assert client.acp.list() == []


def test_callbacks_run_in_threads_and_may_use_the_client(home: Path) -> None:
    names: list[str] = []
    with SandboxAgent.start(asgi(), default_directory=str(home)) as client:

        def ask(request: PermissionRequest) -> str:
            names.append(threading.current_thread().name)
            assert client.health()["status"] == "ok"
            return "once"

        session = client.sessions.create("mock", on_permission=ask)
        seen: list[str] = []
        done = threading.Event()
        session.on_event(lambda event: (seen.append(event.type), done.set())[0], type="turn.ended")
        assert "allow_once" in session.prompt("permission").text
        assert names and names[0] != "sandbox-agent"
        assert done.wait(10) and seen == ["turn.ended"]


@pytest.mark.clause("sdk-both-clients")
def test_many_threads_share_one_client(client: SandboxAgent) -> None:
    def work(number: int) -> str:
        session = client.sessions.create("mock")
        return session.prompt(f"echo {number}").text

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(12))) == [str(number) for number in range(12)]


@pytest.mark.clause("decision-36", "sdk-both-clients")
async def test_it_works_inside_a_running_loop_as_in_a_notebook(home: Path) -> None:
    with SandboxAgent.start(asgi(), default_directory=str(home)) as client:
        assert client.sessions.create("mock").prompt("echo cell").text == "cell"
    await asyncio.sleep(0)


def test_errors_cross_the_thread_and_a_closed_client_says_so(home: Path) -> None:
    client = SandboxAgent.start(asgi(), default_directory=str(home))
    session = client.sessions.create("mock")
    with pytest.raises(AgentExitedError):
        session.prompt("crash 2")
    client.close()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.health()


def test_follow_reads_stored_and_live_events(client: SandboxAgent) -> None:
    session = client.sessions.create("mock")
    session.prompt("echo a")
    seen = []
    for event in session.follow():
        seen.append(event.sequence)
        if event.type == "turn.ended":
            break
    assert seen == list(range(1, len(seen) + 1))


@pytest.mark.clause("sdk-follow-ends")
def test_a_reader_thread_ends_with_the_client(home: Path) -> None:
    client = SandboxAgent.start(asgi(), default_directory=str(home))
    session = client.sessions.create("mock")
    seen: list[str] = []
    ended: list[BaseException | None] = []

    def read() -> None:
        try:
            seen.extend(event.type for event in session.follow())
            ended.append(None)
        except BaseException as error:
            ended.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    session.prompt("echo x")
    client.close()
    reader.join(20)
    assert not reader.is_alive() and ended == [None]
    with pytest.raises(ClientClosedError):
        session.prompt("echo y")


def test_a_session_is_a_context_manager(client: SandboxAgent) -> None:
    with client.sessions.create("mock") as session:
        assert session.prompt("echo x").text == "x"
    with pytest.raises(SessionEndedError):
        session.prompt("echo y")


@pytest.mark.clause("sdk-follow-ends")
def test_abandoned_readers_are_collected_on_any_thread(client: SandboxAgent) -> None:
    session = client.sessions.create("mock")
    session.prompt("stream 30 0")

    def abandon() -> None:
        for source in (session.follow(), session.follow_raw(), iter(session.stream("stream 30 0"))):
            next(source)
            cycle: list[Any] = [source]
            cycle.append(cycle)

    async def collect() -> None:
        gc.collect()

    gc.disable()
    try:
        abandon()
        client._portal.run(collect())
    finally:
        gc.enable()
    # pytest fails the test if a destructor raised.
    assert session.prompt("echo still here").text == "still here"


def test_a_watch_ends_when_its_block_is_left(client: SandboxAgent, tmp_path: Path) -> None:
    with client.fs.watch(tmp_path) as batches:
        (tmp_path / "note").write_text("hello")
        next(batches)
    assert next(batches, None) is None


WATCH = """
import sys
from sandbox_agent import SandboxAgent

with SandboxAgent.start() as client:
    with client.fs.watch(sys.argv[1]) as batches:
        client.fs.write_text(sys.argv[1] + "/note.txt", "hello")
        print([change.path for change in next(batches).changes][-1])
"""


def test_a_watch_that_is_left_early_reports_no_error_at_the_end(tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", WATCH, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    assert run.stdout.strip() == str(tmp_path / "note.txt")
    assert "exception" not in run.stderr
