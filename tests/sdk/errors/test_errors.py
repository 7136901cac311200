"""Failures: each has its type, cause and attributes, and is raised without delay."""

from __future__ import annotations

import asyncio
import pickle
from pathlib import Path

import httpx
import pytest

import sandbox_agent
from sandbox_agent import (
    AgentExitedError,
    AgentProcessError,
    AgentTimeoutError,
    APIConnectionError,
    APIStatusError,
    AsyncSandboxAgent,
    AuthenticationError,
    BadRequestError,
    NotFoundError,
    RpcError,
    SandboxAgent,
    SandboxAgentError,
    UnsupportedAgentError,
)
from sandbox_agent.sdk import errors, response_errors
from tests.sdk.conftest import Connect, within_a_second
from tests.sdk.live_server import LiveServer
from tests.support.polling import eventually
from tests.support.server_process import free_port, place_launcher


@pytest.mark.clause("spec2-3.1-agent", "sdk-nothing-hangs")
async def test_an_unknown_agent_is_refused_at_once(client: AsyncSandboxAgent) -> None:
    with (
        within_a_second(),
        pytest.raises(UnsupportedAgentError, match="unsupported agent: unknown-agent") as failure,
    ):
        await client.sessions.create("unknown-agent")
    assert (
        failure.value.error_type == "unsupported_agent" and failure.value.problem["agent"] == "unknown-agent"
    )


@pytest.mark.clause("sdk-nothing-hangs")
async def test_an_agent_that_cannot_start_says_why(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    place_launcher(tmp_path / "data", "amp", "#!/no/such/interpreter\n")
    with within_a_second(), pytest.raises(AgentProcessError, match="failed to start agent process"):
        await client.sessions.create("amp")
    assert await client.acp.list() == []


@pytest.mark.clause("sdk-nothing-hangs")
async def test_an_agent_that_exits_at_once_is_reported_with_its_last_stderr(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    place_launcher(tmp_path / "data", "amp", "#!/bin/sh\necho 'no key in sight' >&2\nexit 3\n")
    with within_a_second(), pytest.raises(AgentExitedError, match="no key in sight") as failure:
        await client.sessions.create("amp")
    assert failure.value.exit_code == 3 and isinstance(failure.value.__cause__, AgentProcessError)


@pytest.mark.clause("decision-16-client")
async def test_a_crash_in_a_turn_carries_exit_code_and_stderr(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.prompt("stderr 100")
    with within_a_second(), pytest.raises(AgentExitedError) as failure:
        await session.prompt("crash 9")
    assert failure.value.exit_code == 9 and "xxx" in failure.value.stderr
    with within_a_second(), pytest.raises(AgentExitedError) as killed:
        await session.prompt("kill")
    assert killed.value.signal == "SIGKILL"
    ended = [e for e in await session.events(limit=1000) if e.type == "session.ended"]
    assert ended[0].data.exit_code == 9 and "xxx" in ended[0].data.stderr.head


@pytest.mark.clause("sdk-nothing-hangs")
async def test_a_silent_agent_is_a_typed_time_out_and_its_late_answer_is_kept(
    own_server: LiveServer, connect: Connect
) -> None:
    await own_server.stop()
    own_server.arguments = ("--acp-request-timeout-ms", "400")
    await own_server.start()
    client = await connect()
    session = await client.sessions.create("mock")
    with within_a_second(known_after_s=0.4), pytest.raises(AgentTimeoutError) as failure:
        await session.prompt("hang")
    assert failure.value.status_code == 504
    codes = [e.data.code for e in await session.events(limit=1000) if e.type == "error"]
    assert codes == ["timeout"]
    assert (await session.prompt("echo next")).text == "next"


@pytest.mark.clause("sdk-nothing-hangs")
async def test_an_agent_that_never_says_a_word_is_not_started_again_and_again(
    own_server: LiveServer, connect: Connect
) -> None:
    await own_server.stop()
    own_server.arguments = ("--acp-request-timeout-ms", "400")
    place_launcher(own_server.data, "amp", "#!/bin/sh\nexec sleep 60\n")
    await own_server.start()
    client = await connect()
    with within_a_second(known_after_s=0.4), pytest.raises(AgentTimeoutError):
        await client.sessions.create("amp")
    assert await client.acp.list() == []


@pytest.mark.clause("spec3-authentication")
async def test_a_wrong_token_is_said_at_once(own_server: LiveServer) -> None:
    with within_a_second(), pytest.raises(AuthenticationError, match="token invalid"):
        await AsyncSandboxAgent.connect(own_server.url, "wrong")


@pytest.mark.clause("sdk-nothing-hangs")
async def test_a_refused_connection_fails_at_once() -> None:
    url = f"http://127.0.0.1:{free_port()}"
    with within_a_second(), pytest.raises(APIConnectionError, match=f"{url}.*Connection refused"):
        await AsyncSandboxAgent.connect(url)
    with within_a_second(), pytest.raises(APIConnectionError):
        await asyncio.to_thread(SandboxAgent.connect, url)
    with within_a_second(), pytest.raises(APIConnectionError, match=r"no-such-host\.invalid"):
        await AsyncSandboxAgent.connect("http://no-such-host.invalid")


@pytest.mark.clause("sdk-nothing-hangs")
async def test_connect_waits_for_a_server_for_the_given_time(own_server: LiveServer) -> None:
    await own_server.stop()
    waiting = asyncio.create_task(
        AsyncSandboxAgent.connect(own_server.url, own_server.token, wait_for_health=30)
    )
    await asyncio.sleep(0.2)  # the time without a server, in which several attempts are refused
    await own_server.start()
    async with await waiting as client:
        assert (await client.health())["status"] == "ok"


@pytest.mark.clause("sdk-nothing-hangs")
async def test_a_server_that_is_not_there_is_a_connection_error(
    own_server: LiveServer, connect: Connect
) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    await own_server.stop()
    for work in (client.agents.list(), client.fs.read("x"), session.prompt("echo x")):
        with within_a_second(), pytest.raises(APIConnectionError):
            await work
    with within_a_second(known_after_s=1.0):
        await session.terminate()


@pytest.mark.clause("sdk-nothing-hangs")
async def test_a_turn_on_a_dead_embedded_server_fails_at_once(tmp_path: Path) -> None:
    async with await AsyncSandboxAgent.start(default_directory=str(tmp_path)) as client:
        session = await client.sessions.create("mock")
        async with session.stream("hang") as turn:
            await asyncio.wait_for(turn.messages.sent.wait(), 10)
            provider = client.provider
            assert provider is not None
            await provider.destroy(str(client.sandbox_id).partition("/")[2])
            with within_a_second(), pytest.raises(SandboxAgentError):
                await turn.result()
        await eventually(lambda: session.info.ended)
        with within_a_second(), pytest.raises(APIConnectionError):
            await session.prompt("echo x")


@pytest.mark.clause("sdk-recorded-once")
async def test_the_end_of_an_embedded_server_is_told_once_and_nothing_follows_it(tmp_path: Path) -> None:
    async with AsyncSandboxAgent.start(default_directory=tmp_path) as client:
        session = await client.sessions.create("mock")
        turn = session.start("hang")
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        assert client.provider is not None
        await client.provider.destroy(str(client.sandbox_id).partition("/")[2])
        with pytest.raises(SandboxAgentError) as failure:
            await asyncio.wait_for(turn.result(), 10)
        await eventually(lambda: session.info.ended)
        kinds = [event.type for event in await session.events()]
    assert kinds.count("error") == kinds.count("turn.ended") == kinds.count("session.ended") == 1, kinds
    assert kinds.index("error") < kinds.index("session.ended"), kinds
    assert failure.value.result.events[-1].type == "session.ended"


async def test_a_missing_file_is_not_found_with_its_details(client: AsyncSandboxAgent) -> None:
    with pytest.raises(NotFoundError) as failure:
        await client.fs.read("/no/such/file")
    assert failure.value.details["resource"] == "path"
    with pytest.raises(BadRequestError):
        await client.fs.list("/etc/hosts")


@pytest.mark.clause("sdk-errors")
async def test_answers_that_are_no_problem_documents_are_understood() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(418, text="I am a teapot")

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as own:
        client = AsyncSandboxAgent("http://teapot.invalid", http_client=own)
        with pytest.raises(APIStatusError, match="I am a teapot") as failure:
            await client.health()
        assert failure.value.status_code == 418 and failure.value.error_type == ""
        await client.aclose()
        assert not own.is_closed, "a client that was brought along is not ours to close"


@pytest.mark.clause("decision-15-client")
def test_a_late_failure_of_the_server_is_the_exception_its_status_would_be() -> None:
    problem = {"type": "urn:sandbox-agent:error:timeout", "status": 504, "detail": "timeout"}
    assert isinstance(response_errors.rpc_error({"code": -32603, "data": problem}), AgentTimeoutError)
    gone = {**problem, "type": "urn:sandbox-agent:error:agent_process_exited", "details": {"exitCode": 4}}
    error = response_errors.rpc_error({"code": -32603, "data": gone})
    assert isinstance(error, AgentExitedError) and error.exit_code == 4
    assert isinstance(response_errors.rpc_error("odd"), RpcError)


@pytest.mark.clause("sdk-errors")
def test_every_error_survives_pickling_and_keeps_its_facts() -> None:
    samples: list[SandboxAgentError] = [
        errors.APIConnectionError("a", delivery_unknown=True),
        response_errors.status_error(409, {"type": "urn:sandbox-agent:error:conflict", "detail": "no"}),
        errors.RpcError(-1, "m", {"d": 1}, method="x/y"),
        errors.AgentExitedError(exit_code=1, stderr="s"),
        errors.SessionNotRestoredError("s", {"reattach": "gone"}),
        errors.UnsupportedPermissionReplyError("p", "once", ["a"]),
        errors.UnsupportedSessionValueError("mode", "x", ["a", "b"]),
        errors.SpawnError("m", stderr_tail="t", exit_code=2),
        errors.InvalidAnswerError("q", "m"),
    ]
    for error in samples:
        copy = pickle.loads(pickle.dumps(error))  # noqa: S301 - made in this very test
        assert type(copy) is type(error) and str(copy) == str(error) and copy.__dict__ == error.__dict__


@pytest.mark.clause("sdk-errors")
def test_all_errors_are_one_tree() -> None:
    public = [
        getattr(sandbox_agent, name) for name in sandbox_agent.sdk.api.__all__ if name.endswith("Error")
    ]
    assert len(public) > 30 and all(issubclass(error, SandboxAgentError) for error in public)


@pytest.mark.clause("sdk-errors")
@pytest.mark.parametrize(
    ("status", "kind", "expected"),
    [
        (400, "invalid_request", errors.BadRequestError),
        (400, "unsupported_agent", errors.UnsupportedAgentError),
        (401, "token_invalid", errors.AuthenticationError),
        (403, "forbidden_origin", errors.PermissionDeniedError),
        (404, "session_not_found", errors.NotFoundError),
        (404, "agent_not_installed", errors.AgentNotInstalledError),
        (405, "method_not_allowed", errors.APIStatusError),
        (409, "conflict", errors.ConflictError),
        (413, "payload_too_large", errors.APIStatusError),
        (500, "install_failed", errors.InstallFailedError),
        (500, "internal_error", errors.InternalServerError),
        (502, "agent_process_exited", errors.AgentProcessError),
        (500, "agent_process_exited", errors.AgentProcessError),
        (502, "stream_error", errors.AgentProcessError),
        (504, "timeout", errors.AgentTimeoutError),
        (409, "something_new", errors.ConflictError),
    ],
)
def test_the_kind_rules_and_the_status_is_the_fallback(
    status: int, kind: str, expected: type[APIStatusError]
) -> None:
    assert type(response_errors.status_error(status, {"type": f"urn:sandbox-agent:error:{kind}"})) is expected
