"""Long waits: the header goes out early, then blanks, and failures become JSON-RPC errors."""

from __future__ import annotations

import json
import time

import pytest

from tests.support.clients.acp import AGENT, message
from tests.support.clients.raw_http import Connection
from tests.support.problems import assert_problem
from tests.support.server_process import ServerProcess

SETTINGS = {
    "SANDBOX_AGENT_ACP_EARLY_HEADER_MS": "300",
    "SANDBOX_AGENT_ACP_EARLY_HEADER_INTERVAL_MS": "100",
}


def read_chunks(connection: Connection) -> list[bytes]:
    return list(iter(connection.read_chunk, b""))


@pytest.mark.serial
@pytest.mark.clause("decision-15")
def test_a_long_wait_sends_the_header_early_and_then_blanks(module_server: ServerProcess) -> None:
    acp = module_server.acp
    server_id = acp.start()
    with acp.open_post(server_id, message("test/answer_after", {"ms": 1000}, "slow")) as connection:
        began = time.monotonic()
        status, headers, _ = connection.read_head()
        assert 0.2 < time.monotonic() - began < 0.9
        fields = dict(headers)
        assert (status, fields["content-type"]) == (200, "application/json")
        assert fields["transfer-encoding"] == "chunked"
        body = b"".join(read_chunks(connection))
        blanks = len(body) - len(body.lstrip(b" "))
        assert 3 <= blanks <= 9
        assert json.loads(body)["result"] == {"late": 1000}
        assert body.lstrip(b" ") == b'{"jsonrpc":"2.0","id":"slow","result":{"late":1000}}'
        connection.send(acp.client.build("GET", "/v1/health"))
        assert connection.read_answer().status == 200


def test_a_quick_answer_has_no_early_header(module_server: ServerProcess) -> None:
    acp = module_server.acp
    answer = acp.send(acp.start(), "test/echo")
    assert answer.header("content-length") == str(len(answer.body))


@pytest.mark.clause("decision-15")
def test_after_an_early_header_the_death_of_the_agent_is_a_json_rpc_error(
    module_server: ServerProcess,
) -> None:
    acp = module_server.acp
    server_id = acp.start()
    with acp.open_post(server_id, b'{"id":"dying","method":"test/silent"}') as connection:
        assert connection.read_head()[0] == 200
        acp.notify(server_id, "test/exit", {"code": 6, "stderr": "sorry"})
        error = json.loads(b"".join(read_chunks(connection)))
    assert list(error) == ["jsonrpc", "id", "error"]
    assert error["id"] == "dying"
    assert error["error"]["code"] == -32603
    assert error["error"]["message"] == f"agent process exited: {AGENT}"
    assert error["error"]["data"]["type"] == "urn:sandbox-agent:error:agent_process_exited"
    assert error["error"]["data"]["details"] == {"exitCode": 6, "stderr": "sorry"}


@pytest.mark.clause("decision-15")
def test_after_an_early_header_silence_is_a_json_rpc_error_with_the_id_as_it_was_spelled(
    start_server,
) -> None:
    settings = {**SETTINGS, "SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "800"}
    acp = start_server(settings=settings).acp
    server_id = acp.start()
    with acp.open_post(server_id, b'{"id":1.50,"method":"test/silent"}') as connection:
        connection.read_head()
        body = b"".join(read_chunks(connection)).lstrip(b" ")
    assert body.startswith(b'{"jsonrpc":"2.0","id":1.50,"error":{"code":-32603,"message":"timeout","data":{')


@pytest.mark.clause("decision-15")
def test_after_an_early_header_delete_is_a_json_rpc_error(module_server: ServerProcess) -> None:
    acp = module_server.acp
    server_id = acp.start()
    with acp.open_post(server_id, b'{"id":1,"method":"test/silent"}') as connection:
        connection.read_head()
        assert acp.delete(server_id).status == 204
        error = json.loads(b"".join(read_chunks(connection)))
    assert error["error"]["data"]["status"] == 502


@pytest.mark.clause("decision-15")
def test_a_joined_call_gets_its_early_header_too(module_server: ServerProcess) -> None:
    acp = module_server.acp
    server_id = acp.start()
    body = message("test/answer_after", {"ms": 900}, "j")
    with acp.open_post(server_id, body) as first, acp.open_post(server_id, body) as second:
        assert [connection.read_head()[0] for connection in (first, second)] == [200, 200]
        bodies = [b"".join(read_chunks(connection)).lstrip() for connection in (first, second)]
    assert bodies[0] == bodies[1]


@pytest.mark.clause("decision-15")
def test_a_silent_start_is_still_a_plain_504(start_server) -> None:
    """The limit before the agent's first line is shorter than the early header."""
    settings = {
        **SETTINGS,
        "SANDBOX_AGENT_ACP_EARLY_HEADER_MS": "5000",
        "SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "600",
    }
    acp = start_server(settings=settings).acp
    answer = acp.send(acp.new_id(), "test/silent", agent=AGENT)
    assert_problem(answer, 504, "timeout")
