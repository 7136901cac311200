"""`sandbox-agent acp --url`: the same agent through a server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path

import pytest

from tests.cli.acp.conftest import Open
from tests.cli.acp.front import AGENT, Front, token_file
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess, free_port


def instances(server: ServerProcess) -> list[str]:
    answer = server.client.get("/v1/acp")
    return [one["serverId"] for one in answer.json()["servers"]]


@pytest.mark.clause("front-remote")
async def test_bytes_pass_unchanged_in_both_directions(open_remote: Open, tmp_path: Path) -> None:
    front = await open_remote()
    record = tmp_path / "received"
    await front.request(1, "test/record", {"path": str(record)})
    reply = b'{ "id":2.50, "result" :[1.0,  1e400] }'
    await front.request(7, "test/reply_to_next_line", {"hex": (reply + b"\n").hex()})
    odd = b'{ "id" : 2.5 , "x":"\\ud800","jsonrpc":"2.0" ,"method":"test/echo","params":{"n":1e400}}'
    await front.send(odd)
    await front.wait_for(lambda message: message.get("id") == 2.5, "the answer")
    assert front.lines[-1] == reply + b"\n"
    assert record.read_bytes().endswith(odd + b"\n")


@pytest.mark.clause("front-remote-answers-once")
async def test_each_answer_and_each_notification_comes_once_and_in_order(open_remote: Open) -> None:
    front = await open_remote()
    for number in range(20):
        await front.send(
            {"id": number, "method": "test/flood", "params": {"count": 50, "first": number * 50}}
        )
    for number in range(20):
        await front.answer(number)
    answers = [message["id"] for message in front.messages if "method" not in message]
    ticks = [message["params"]["n"] for message in front.messages if message.get("method") == "test/tick"]
    assert answers == list(range(20)) and ticks == list(range(1000))


@pytest.mark.clause("front-remote")
async def test_requests_of_the_agent_reach_the_editor_and_its_answer_the_agent(open_remote: Open) -> None:
    front = await open_remote()
    await front.send({"id": 1, "method": "test/ask_client", "params": {"id": "q-1"}})
    await front.wait_for(lambda message: message.get("id") == "q-1", "the request of the agent")
    await front.send(b'{"jsonrpc":"2.0","id":"q-1","result":{"yes":  true}}')
    told = await front.wait_for(lambda message: message.get("method") == "test/client_answered", "the answer")
    assert bytes.fromhex(told["params"]["hex"]) == b'{"jsonrpc":"2.0","id":"q-1","result":{"yes":  true}}'


@pytest.mark.clause("front-remote-cleanup")
@pytest.mark.parametrize("how", ["input ends", "SIGTERM", "SIGHUP", "SIGKILL"])
async def test_the_instance_is_deleted_when_the_editor_goes(
    open_remote: Open, server: ServerProcess, how: str
) -> None:
    front = await open_remote()
    await front.request(1, "test/echo")
    await front.send({"id": 2, "method": "test/silent"})
    assert len(instances(server)) == 1
    if how == "input ends":
        front.end_input()
    else:
        os.kill(front.pid, signal.Signals[how])
    await eventually(lambda: not instances(server), 20)
    await eventually(lambda: not front.left(), 20)
    assert await front.wait() == (-signal.SIGKILL if how == "SIGKILL" else 0)


@pytest.mark.clause("front-remote-resume")
async def test_a_server_id_resumes_the_same_process_without_its_past(
    open_remote: Open, server: ServerProcess
) -> None:
    first = await open_remote("--server-id", "mine")
    pid = (await first.request(1, "test/echo"))["result"]["pid"]
    await first.request(2, "test/flood", {"count": 30})
    first.end_input()
    assert await first.wait() == 0 and instances(server) == ["mine"]
    second = await open_remote("--server-id", "mine")
    assert (await second.request(1, "test/echo"))["result"]["pid"] == pid
    assert len(second.lines) == 1
    # The answer to a request of another client of the same instance is not for this editor.
    server.acp.call("mine", "test/echo", request_id="other")
    await second.request(2, "test/echo")
    assert [message["id"] for message in second.messages] == [1, 2]


@pytest.mark.clause("front-map")
async def test_working_directories_are_mapped(open_remote: Open, tmp_path: Path) -> None:
    front = await open_remote("--map", "/home/me=/workspace", agent="mock")
    await front.request(0, "initialize", {"protocolVersion": 1})
    created = await front.request(1, "session/new", {"cwd": "/home/me/project", "mcpServers": []})
    listed = await front.request(2, "session/list", {"cwd": "/home/me/project"})
    assert [one["cwd"] for one in listed["result"]["sessions"]] == ["/home/me/project"]
    prompt = {"sessionId": created["result"]["sessionId"], "prompt": [{"type": "text", "text": "info"}]}
    await front.request(3, "session/prompt", prompt)
    assert any(b"/workspace/project" in line for line in front.lines)


@pytest.mark.clause("front-lost-server")
async def test_a_killed_server_is_an_error_for_each_open_request(
    open_remote: Open, server: ServerProcess
) -> None:
    front = await open_remote("--reconnect-for", "1")
    await front.request(1, "test/echo")
    for request_id in ("a", "b"):
        await front.send({"id": request_id, "method": "test/silent"})
    await front.request(2, "test/echo")
    server.process.kill()
    for request_id in ("a", "b"):
        answer = await front.answer(request_id)
        assert answer["error"]["code"] == -32603 and "no connection" in answer["error"]["message"]
    assert await front.wait() == 1


@pytest.mark.clause("front-lost-server")
async def test_an_agent_that_exits_is_an_error_with_its_stderr(open_remote: Open) -> None:
    front = await open_remote()
    await front.request(1, "test/echo")
    await front.send({"id": 2, "method": "test/exit", "params": {"code": 3, "stderr": "no licence"}})
    answer = await front.answer(2)
    assert answer["error"]["data"]["type"] == "urn:sandbox-agent:error:agent_process_exited"
    assert "no licence" in json.dumps(answer["error"]["data"])
    assert await front.wait() == 1


@pytest.mark.clause("front-lost-server")
async def test_an_instance_that_another_client_deletes_is_lost(
    open_remote: Open, server: ServerProcess
) -> None:
    front = await open_remote("--server-id", "shared")
    await front.request(1, "test/echo")
    await front.send({"id": 2, "method": "test/silent"})
    await front.request(3, "test/echo")
    await asyncio.to_thread(server.acp.delete, "shared")
    assert "error" in await front.answer(2)
    assert await front.wait() == 1


@pytest.mark.clause("front-lost-server")
async def test_a_server_that_restarts_does_not_get_the_old_messages(tmp_path: Path) -> None:
    port = free_port()
    settings = {"arguments": ["--port", str(port)]}
    first = ServerProcess(tmp_path / "server", **settings)  # type: ignore[arg-type]
    first.client.port = port
    first.ready()
    words = ("--token-file", token_file(tmp_path, first.token or ""), "--agent", AGENT)
    front = await Front(tmp_path / "editor", "--url", f"http://127.0.0.1:{port}", *words).start()
    await front.request(1, "test/echo")
    await front.send({"id": 2, "method": "test/silent"})
    await front.request(3, "test/echo")
    first.process.kill()
    first.process.wait()
    second = ServerProcess(tmp_path / "server", **settings)  # type: ignore[arg-type]
    second.client.port = port
    second.ready()
    assert "error" in await front.answer(2)
    assert await front.wait() == 1 and instances(second) == []
    await front.close()
    second.stop()
    await eventually(lambda: not front.left() and not first.marked_processes())


@pytest.mark.clause("front-lost-server")
async def test_a_request_that_the_server_gave_up_is_an_error(tmp_path: Path) -> None:
    settings = {"SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "500", "SANDBOX_AGENT_ACP_HEARTBEAT_MS": "200"}
    server = ServerProcess(tmp_path / "server", settings=settings).ready()
    words = ("--token-file", token_file(tmp_path, server.token or ""), "--agent", AGENT)
    front = await Front(tmp_path / "editor", "--url", f"http://127.0.0.1:{server.port}", *words).start()
    await front.request(1, "test/echo")
    await front.send({"id": 2, "method": "test/silent"})
    assert "did not answer" in (await front.answer(2))["error"]["message"]
    assert "result" in await front.request(3, "test/echo")
    await front.close()
    await eventually(lambda: not instances(server), 20)
    server.stop()


@pytest.mark.clause("front-remote")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--token", "wrong"), "token invalid"),
        (("--agent", "nonsense"), "unsupported agent"),
        (("--agent", "codex"), "codex"),
    ],
)
async def test_a_refusal_of_the_server_is_the_answer_to_the_request(
    open_remote: Open, words: tuple[str, ...], said: str
) -> None:
    front = await open_remote(*words)
    answer = await front.request(1, "initialize")
    assert said in answer["error"]["message"] and answer["error"]["data"]["status"] >= 400
    # The editor may try again, for example after the agent was installed.
    assert "error" in await front.request(2, "initialize")


@pytest.mark.clause("front-remote")
async def test_text_that_is_not_a_message_is_refused_and_the_next_one_is_sent(open_remote: Open) -> None:
    front = await open_remote()
    await front.send(b"hello")
    await front.send(b"")
    await front.send(b"[]")
    assert "result" in await front.request(1, "test/echo")
    assert [message.get("error", {}).get("code") for message in front.messages] == [-32700, -32600, None]


@pytest.mark.parametrize(
    "words",
    [(), ("--agent", "x", "--server-id", "y"), ("--agent", "x", "--map", "/a=/b")],
)
async def test_wrong_options_are_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    front = await Front(tmp_path, *words).start()
    assert await front.wait() == 2 and not front.lines
    await front.close()
