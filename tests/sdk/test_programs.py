"""Twelve programs that users write first, as the documentation shows them."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sandbox_agent import (
    AgentExitedError,
    APITimeoutError,
    AsyncSandboxAgent,
    ConcurrentPromptError,
    ItemCompleted,
    ItemDelta,
    PermissionRequest,
    Question,
    SandboxAgent,
    SandboxAgentError,
    SpawnedServer,
    asgi,
    auto_approve,
    event_to_json,
    image,
    spawn_server,
)
from tests.sdk.stores.postgres_server import find_binaries, running_postgres

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002"
    "00000500017a5eab3f0000000049454e44ae426082"
)
AGENT = """
import json, sys
for line in sys.stdin:
    request, result = json.loads(line), {"protocolVersion": 1}
    if request["method"] == "session/new":
        result = {"sessionId": "s1"}
    elif request["method"] == "session/prompt":
        text = "".join(block["text"] for block in request["params"]["prompt"]).upper()
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        params = {"sessionId": "s1", "update": update}
        print(json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params}), flush=True)
        result = {"stopReason": "end_turn"}
    if "id" in request:
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SpawnedServer]:
    home = tmp_path_factory.mktemp("programs")
    with spawn_server({"env": {"HOME": str(home), "XDG_DATA_HOME": str(home / "data")}}) as running:
        yield running


@pytest.fixture
def client(server: SpawnedServer, tmp_path: Path) -> Iterator[SandboxAgent]:
    with SandboxAgent.connect(server.base_url, server.token, default_directory=tmp_path) as made:
        yield made


@pytest.fixture
async def async_client(server: SpawnedServer, tmp_path: Path) -> AsyncIterator[AsyncSandboxAgent]:
    async with AsyncSandboxAgent.connect(server.base_url, server.token, default_directory=tmp_path) as made:
        yield made


@pytest.mark.clause("sdk-programs")
def test_p01_hello(client: SandboxAgent) -> None:
    with client.sessions.create("mock") as session:
        assert session.prompt("echo hello").text == "hello"


@pytest.mark.clause("sdk-programs")
def test_p02_streaming_chat(client: SandboxAgent) -> None:
    shown: list[str] = []
    with client.sessions.create("mock", model="mock-fast", on_permission=auto_approve) as session:
        for prompt in ("think", "tool", "stream 3 0"):
            for event in session.stream(prompt):
                match event:
                    case ItemDelta(kind="text"):
                        shown.append(event.text)
                    case ItemDelta(kind="thought"):
                        shown.append(f"({event.text})")
                    case ItemCompleted(item=item) if item.kind == "tool_call":
                        shown += [
                            part.title or part.name for part in item.content if part.type == "tool_call"
                        ]
                    case _:
                        pass
    text = "".join(shown)
    assert "(" in text and "README.md" in text and "chunk 3" in text


@pytest.mark.clause("sdk-programs")
def test_p03_policy(client: SandboxAgent, tmp_path: Path) -> None:
    asked: list[str] = []

    def decide(request: PermissionRequest) -> str:
        asked.append(f"{request.kind} {request.title}")
        inside = all(Path(place).is_relative_to(tmp_path) for place in request.locations)
        return "once" if inside else "reject"

    with client.sessions.create("mock", on_permission=decide) as session:
        assert "allow_once" in session.prompt("permission").text
    assert len(asked) == 1


@pytest.mark.clause("sdk-programs")
def test_p04_questions(client: SandboxAgent) -> None:
    def answer(question: Question) -> str:
        return question.options[0].value

    with client.sessions.create("mock", on_question=answer) as session:
        assert session.prompt("question").text == "You answered: option-a"


@pytest.mark.clause("sdk-programs")
def test_p05_attachments(client: SandboxAgent, tmp_path: Path) -> None:
    picture = tmp_path / "dot.png"
    picture.write_bytes(PNG)
    client.fs.write_text(tmp_path / "notes.txt", "remember the milk")
    with client.sessions.create("mock") as session:
        result = session.prompt(["echo look", image(picture)], attachments=[tmp_path / "notes.txt"])
        assert result.stop_reason == "end_turn"


@pytest.mark.clause("sdk-programs")
def test_p06_resume_and_history(server: SpawnedServer, tmp_path: Path) -> None:
    store = tmp_path / "sessions.db"
    with SandboxAgent.connect(server.base_url, server.token, store=store) as first:
        first.sessions.create("mock", id="talk", title="A talk", directory=tmp_path).prompt("echo one")
    with SandboxAgent.connect(server.base_url, server.token, store=store) as second:
        assert [(record.id, record.title) for record in second.sessions.list()] == [("talk", "A talk")]
        session = second.sessions.resume("talk")
        assert session.prompt("echo two").text == "two"
        said = [event.item.text for event in session.events() if isinstance(event, ItemCompleted)]
        assert said == ["echo one", "one", "echo two", "two"]
        assert "## User\n\necho one" in session.export("markdown")


@pytest.mark.postgres
@pytest.mark.clause("sdk-programs")
def test_p07_postgres(server: SpawnedServer, tmp_path: Path) -> None:
    binaries = find_binaries()
    assert binaries is not None
    with running_postgres(binaries) as dsn:
        facts = dict(part.split("=", 1) for part in dsn.split())
        url = f"postgresql://{facts['user']}@/{facts['dbname']}?host={facts['host']}"
        for number in (1, 2):
            with SandboxAgent.connect(
                server.base_url, server.token, store=url, default_directory=tmp_path
            ) as client:
                session = client.sessions.resume_or_create("talk", "mock")
                session.prompt(f"echo {number}")
                prompts = [m for m in session.raw_events() if m.get("method") == "session/prompt"]
                assert len(prompts) == number


@pytest.mark.clause("sdk-programs")
async def test_p08_web_backend(async_client: AsyncSandboxAgent) -> None:
    session = await async_client.sessions.create("mock")
    turn = session.start("stream 10 20", queue=False)  # the handler of POST /prompt returns at once
    with pytest.raises(ConcurrentPromptError):  # which becomes a 409
        session.start("echo too early", queue=False)
    lines: list[bytes] = []
    async for event in session.follow(since=0):  # the handler of GET /events
        lines.append(b"id: %d\ndata: %b\n\n" % (event.sequence, event_to_json(event)))
        if event.type == "turn.ended":
            break
    assert (await turn.result()).text.count("chunk") == 10
    assert lines[0].startswith(b"id: 1\n")


@pytest.mark.clause("sdk-programs")
def test_p09_threads(client: SandboxAgent) -> None:
    def work(number: int) -> str:
        with client.sessions.create("mock") as session:
            return session.prompt(f"echo {number}").text

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(work, range(8))) == [str(number) for number in range(8)]


@pytest.mark.clause("sdk-programs")
async def test_p10_batch_with_grades(async_client: AsyncSandboxAgent, tmp_path: Path) -> None:
    async def run(number: int, prompt: str, limit_s: float) -> tuple[str, str, bool]:
        directory = tmp_path / f"task-{number}"
        await async_client.fs.mkdir(directory)
        session = await async_client.sessions.create("mock", isolated=True, directory=directory)
        try:
            result = await session.prompt(prompt, timeout=limit_s)
            kind = result.stop_reason
        except SandboxAgentError as error:
            assert error.result is not None
            result, kind = error.result, type(error).__name__
        graded = await async_client.processes.run(["test", "-d", "."], cwd=directory)
        await session.terminate()
        return kind, result.text, graded.exit_code == 0

    tasks = [("echo fine", 30.0), ("crash 3", 30.0), ("stream 1000 20", 1.5)]
    outcomes = await asyncio.gather(*(run(number, *task) for number, task in enumerate(tasks)))
    assert outcomes[0] == ("end_turn", "fine", True)
    assert outcomes[1][0] == AgentExitedError.__name__
    assert outcomes[2][0] == APITimeoutError.__name__ and outcomes[2][1].startswith("chunk 1\n")


@pytest.mark.clause("sdk-programs")
def test_p11_mcp(client: SandboxAgent) -> None:
    servers = {"clock": {"type": "local", "command": sys.executable, "args": ["-m", "clock"]}}
    with client.sessions.create("mock", mcp=servers) as session:
        assert "clock" in session.prompt("info").text


@pytest.mark.clause("sdk-programs")
def test_p12_custom_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    program = tmp_path / "agent.py"
    program.write_text(AGENT)
    with SandboxAgent.start(
        asgi(), agents={"shouting": [sys.executable, str(program)]}, default_directory=tmp_path
    ) as client:
        assert client.sessions.create("shouting").prompt("hello").text == "HELLO"
