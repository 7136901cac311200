"""Tool relays as an agent sees them that has a ticket, but not the token."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.support.clients.acp import AGENT
from tests.support.clients.raw_http import Client
from tests.support.processes import resident_bytes
from tests.support.server_process import ServerProcess

MB = 1_000_000
CALLS = "/v1/tool-relays/tools/calls"
PING = b'{"jsonrpc":"2.0","method":"ping"}'


def open_relay(server: ServerProcess, server_id: str) -> Client:
    """A client with the ticket of a new relay in place of the token."""
    opened = server.client.request("PUT", f"/v1/tool-relays/tools?serverId={server_id}")
    assert opened.status == 200, opened.body
    return Client("127.0.0.1", server.port, opened.json()["ticket"])


@pytest.mark.clause("security-exhaustion")
def test_unfinished_calls_cost_no_more_than_one_message(start_server) -> None:
    server: ServerProcess = start_server()
    agent = open_relay(server, server.acp.start())
    assert agent.request("POST", CALLS, headers={"prefer": "respond-async"}, body=PING).status == 202
    before = resident_bytes(server.pid)
    head = agent.build("POST", CALLS, headers={"content-length": str(60 * MB)})
    with ExitStack() as connections:
        for number in range(8):
            connection = connections.enter_context(agent.connect(20))
            try:
                connection.send(head)
                connection.send(bytes(50 * MB))
            except OSError:
                assert number > 0, "the first message is read"
        server.client.get("/v1/health")
        assert resident_bytes(server.pid) - before < 120 * MB
    assert agent.request("POST", CALLS, headers={"prefer": "respond-async"}, body=PING).status == 202


@pytest.mark.clause("security-exhaustion")
def test_a_relay_and_its_ticket_end_with_the_instance_also_if_its_id_is_used_again(start_server) -> None:
    server: ServerProcess = start_server()
    server_id = server.acp.start()
    agent = open_relay(server, server_id)
    assert server.acp.delete(server_id).status == 204
    server.acp.call(server_id, "test/echo", agent=AGENT)
    assert agent.request("POST", CALLS, headers={"prefer": "respond-async"}, body=PING).status == 401
    assert server.client.get("/v1/tool-relays/tools").status == 404
    assert open_relay(server, server_id).token != agent.token
