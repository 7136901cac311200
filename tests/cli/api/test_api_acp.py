"""`api acp`: post, list, stream with reconnects, close."""

from __future__ import annotations

import json
import select
import subprocess
from pathlib import Path
from typing import IO

import pytest

from tests.cli.conftest import TOKEN, Api
from tests.cli.sandbox_directory import SandboxDirectory
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

HELLO = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}'
NEW_SESSION = '{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/","mcpServers":[]}}'


def _read_line(stream: IO[bytes] | None, timeout: float = 20) -> bytes:
    assert stream is not None
    ready, _, _ = select.select([stream], [], [], timeout)
    assert ready, "no line came"
    return stream.readline()


@pytest.fixture
def mock_instance(api: Api, request: pytest.FixtureRequest) -> str:
    server_id = f"cli/{request.node.name}"
    api("acp", "post", "--server-id", server_id, "--agent", "mock", "--json", HELLO).good()
    return server_id


@pytest.mark.clause("cli-api-acp")
def test_post_prints_the_answer_and_list_shows_the_instance(api: Api) -> None:
    posted = api(
        "acp", "post", "--server-id", "with space", "--agent", "mock", "--json-file", "-", stdin=HELLO
    )
    assert posted.good().json["result"]["protocolVersion"] == 1
    servers = api("acp", "list").good().json["servers"]
    assert [one["status"] for one in servers if one["serverId"] == "with space"] == ["running"]
    assert "with space" in api("acp", "list", "-o", "table").good().out
    assert api("acp", "close", "--server-id", "with space").good().out == ""
    assert not [one for one in api("acp", "list").json["servers"] if one["serverId"] == "with space"]


@pytest.mark.clause("cli-api-acp")
def test_a_notification_prints_nothing(api: Api, mock_instance: str) -> None:
    cancel = '{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"none"}}'
    assert api("acp", "post", "--server-id", mock_instance, "--json", cancel).good().out == ""


def test_respond_async_leaves_the_answer_to_the_stream(api: Api, mock_instance: str) -> None:
    words = ("acp", "post", "--server-id", mock_instance, "--json", NEW_SESSION, "--respond-async")
    assert api(*words).good().out == ""
    wait_until(
        lambda: '"id":2' in api("acp", "stream", "--server-id", mock_instance, "--no-follow").good().out,
        20,
        "the answer on the stream",
    )


@pytest.mark.clause("cli-api-acp")
def test_stream_prints_messages_as_they_are_with_their_numbers(api: Api, mock_instance: str) -> None:
    lines = api("acp", "stream", "--server-id", mock_instance, "--no-follow", "--ids").good().out.splitlines()
    number, _, message = lines[0].partition("\t")
    assert number == "1"
    assert json.loads(message)["id"] == 1
    after = api("acp", "stream", "--server-id", mock_instance, "--no-follow", "--last-event-id", "1")
    assert after.good().out == ""


def test_stream_of_an_unknown_instance_fails(api: Api) -> None:
    result = api("acp", "stream", "--server-id", "never seen")
    assert result.code == 1
    assert "session_not_found" in result.err


@pytest.mark.clause("cli-api-acp")
def test_stream_follows_until_the_instance_is_closed(api: Api, mock_instance: str) -> None:
    follower = api.sandbox.open(
        "api", "acp", "stream", "--server-id", mock_instance, environment=api.environment
    )
    assert json.loads(_read_line(follower.stdout))["id"] == 1
    api("acp", "post", "--server-id", mock_instance, "--json", NEW_SESSION).good()
    while json.loads(_read_line(follower.stdout)).get("id") != 2:
        pass
    api("acp", "close", "--server-id", mock_instance).good()
    _, errors = follower.communicate(timeout=20)
    assert follower.returncode == 0
    assert b"closed" in errors


@pytest.mark.clause("cli-api-acp")
def test_stream_comes_back_after_the_server_was_away(sandbox: SandboxDirectory, tmp_path: Path) -> None:
    """The server is stopped for good and another one takes its place; the follower finds it."""
    first = ServerProcess(tmp_path / "one", token=TOKEN).ready()
    follower: subprocess.Popen[bytes] | None = None
    second: ServerProcess | None = None
    environment = {"SANDBOX_AGENT_URL": f"http://127.0.0.1:{first.port}", "SANDBOX_AGENT_TOKEN": TOKEN}
    post = ("api", "acp", "post", "--server-id", "s", "--agent", "mock", "--json", HELLO)
    try:
        sandbox.run(*post, environment=environment).good()
        follower = sandbox.open("api", "acp", "stream", "--server-id", "s", environment=environment)
        assert json.loads(_read_line(follower.stdout))["id"] == 1
        first.stop()
        assert b"trying again" in _read_line(follower.stderr)
        second = ServerProcess(tmp_path / "two", token=TOKEN, arguments=["--port", str(first.port)])
        second.client = first.client
        second.ready()
        # The new server has never seen the id; the follower may meet it before or after it is made.
        sandbox.run(*post, environment=environment).good()
        wait_until(lambda: follower is not None and _has_line(follower), 20, "a message or the end")
    finally:
        first.stop()
        if second is not None:
            second.stop()


def _has_line(process: subprocess.Popen[bytes]) -> bool:
    ready, _, _ = select.select([process.stdout], [], [], 0)
    return bool(ready) or process.poll() is not None
