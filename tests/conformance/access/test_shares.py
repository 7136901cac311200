"""Shares: a ticket reads one instance and does nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.clients.included_stream import IncludedStream, opened
from tests.support.clients.raw_http import Answer, Client, Connection
from tests.support.polling import wait_until
from tests.support.problems import assert_problem
from tests.support.token_flags import started

pytestmark = pytest.mark.ours
KEY = "key-of-an-mcp-server-4713"


def shares_path(server_id: str, share_id: str = "") -> str:
    return Acp.path(server_id) + "/shares" + (f"/{share_id}" if share_id else "")


def create(acp: Acp, server_id: str, **body: Any) -> dict[str, Any]:
    answer = acp.client.request(
        "POST", shares_path(server_id), headers=JSON_HEADERS, body=json.dumps(body).encode()
    )
    assert answer.status == 200, answer.body
    assert answer.header("cache-control") == "no-store"
    made: dict[str, Any] = answer.json()
    return made


def bearer(share: dict[str, Any]) -> dict[str, str]:
    return {"authorization": f"Bearer {share['ticket']}"}


def read(client: Client, path: str, share: dict[str, Any], method: str = "GET", **more: Any) -> Answer:
    return client.request(method, path, headers={**bearer(share), **more.pop("headers", {})}, **more)


@contextmanager
def shared_stream(acp: Acp, server_id: str, share: dict[str, Any]) -> Iterator[Connection]:
    """A stream that is open with the ticket; its head and what was logged so far have been read."""
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", acp.path(server_id), headers=bearer(share)))
        assert connection.read_head()[0] == 200
        assert connection.read_chunk().startswith(b"event: message")
        yield connection


@pytest.mark.clause("share-read-only")
def test_a_ticket_reads_the_stream_and_the_status_of_its_instance(acp: Acp) -> None:
    server_id = acp.start("a share/ü")
    share = create(acp, server_id, expiresInMs=60_000)
    assert share["expiresAtMs"] - share["createdAtMs"] == 60_000
    path = f"{acp.path(server_id)}?include=client,time"
    with opened(acp.client, path, **bearer(share)) as stream:
        names = {name for name, _, _ in stream.until("client", "message", "time")}
        assert names == {"client", "message", "time"}
    query = acp.path(server_id).rpartition("/")[2]
    listed = read(acp.client, f"/v1/acp?serverId={query}", share)
    assert [one["serverId"] for one in listed.json()["servers"]] == [server_id]


@pytest.mark.clause("share-read-only")
def test_a_ticket_admits_nothing_else(acp: Acp) -> None:
    server_id, other = acp.start(), acp.start()
    share = create(acp, server_id)
    own, body = acp.path(server_id), message("test/echo", {}, 7)
    refused = [
        ("GET", acp.path(other)),
        ("GET", "/v1/acp"),
        ("GET", f"/v1/acp?serverId={other}"),
        ("GET", f"/v1/acp?serverid={server_id}"),
        ("POST", own),
        ("DELETE", own),
        ("HEAD", own),
        ("PUT", own),
        ("GET", shares_path(server_id)),
        ("POST", shares_path(server_id)),
        ("DELETE", shares_path(server_id, share["id"])),
        ("GET", f"{own}/"),
        ("GET", f"/v1/acp/{other}%2F..%2F{server_id}"),
        ("GET", f"/v1/events?servers={server_id}"),
        ("GET", "/v1/health"),
        ("GET", "/v1/agents"),
        ("GET", "/v1/fs/entries?path=/"),
        ("GET", "/v1/fs/file?path=/etc/hostname"),
        ("DELETE", "/v1/fs/entry?path=nothing"),
        ("GET", "/v1/git/status"),
        ("GET", "/v1/processes"),
        ("POST", "/v1/processes/run"),
        ("GET", "/v1/config/mcp/entries?directory=/"),
        ("POST", "/acp"),
        ("GET", "/acp"),
    ]
    for method, path in refused:
        sent = {"headers": JSON_HEADERS, "body": body} if method == "POST" else {}
        assert read(acp.client, path, share, method, **sent).status == 401, (method, path)
    for name in ("ticket", "access_token", "token"):
        with_query = acp.client.get(f"{own}?{name}={share['ticket']}", authorized=False)
        assert with_query.status == 401, "an address is kept in logs"
    assert acp.call(server_id, "test/echo") is not None


@pytest.mark.clause("share-revocable")
def test_a_revoked_ticket_ends_its_open_streams_and_no_others(acp: Acp) -> None:
    server_id = acp.start()
    first, second = create(acp, server_id), create(acp, server_id)
    assert first["ticket"] != second["ticket"]
    with shared_stream(acp, server_id, first) as ended, shared_stream(acp, server_id, second) as lasting:
        listed = acp.client.get(shares_path(server_id))
        assert [(one["id"], one["readers"]) for one in listed.json()["shares"]] == [
            (first["id"], 1),
            (second["id"], 1),
        ]
        assert first["ticket"] not in listed.body.decode()
        assert acp.client.request("DELETE", shares_path(server_id, first["id"])).status == 204
        assert ended.read_chunk() == b"", "the stream of the revoked ticket has not ended"
        acp.call(server_id, "test/echo")
        assert lasting.read_chunk().startswith(b"event: message")
    assert_problem(read(acp.client, acp.path(server_id), first), 401, "token_invalid")
    gone = acp.client.request("DELETE", shares_path(server_id, first["id"]))
    assert_problem(gone, 404, "not_found")
    assert [one["id"] for one in acp.client.get(shares_path(server_id)).json()["shares"]] == [second["id"]]


@pytest.mark.clause("share-expires")
def test_an_expired_ticket_ends_its_streams(acp: Acp) -> None:
    server_id = acp.start()
    share = create(acp, server_id, expiresInMs=1000)
    with shared_stream(acp, server_id, share) as connection:
        assert connection.read_chunk() == b""
    wait_until(lambda: read(acp.client, acp.path(server_id), share).status == 401, 5, "the expiry")
    assert acp.client.get(shares_path(server_id)).json()["shares"] == []
    for wrong in (0, 999, 31 * 24 * 3600 * 1000, "1"):
        answer = acp.client.request(
            "POST",
            shares_path(server_id),
            headers=JSON_HEADERS,
            body=json.dumps({"expiresInMs": wrong}).encode(),
        )
        assert_problem(answer, 400, "invalid_request")


@pytest.mark.clause("share-read-only")
def test_a_ticket_ends_with_its_instance_not_with_the_id(acp: Acp) -> None:
    server_id = acp.start()
    share = create(acp, server_id)
    assert acp.delete(server_id).status == 204
    acp.start(server_id)
    assert read(acp.client, acp.path(server_id), share).status == 401
    assert acp.client.get(shares_path("no-such-server")).status == 404


@pytest.mark.clause("share-read-only")
def test_readers_with_a_ticket_see_prompts_and_no_keys(acp: Acp) -> None:
    server_id = acp.start()
    share = create(acp, server_id)
    servers = [{"name": "s", "command": "x", "args": [], "env": [{"name": "K", "value": KEY}]}]
    acp.send(server_id, "session/new", {"cwd": "/", "mcpServers": servers})
    acp.send(server_id, "session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "hello"}]})
    path = f"{acp.path(server_id)}?include=client"
    with opened(acp.client, path, **bearer(share)) as stream:
        new, prompt = _posted(stream, "session/new"), _posted(stream, "session/prompt")
        assert set(new) == {"jsonrpc", "id", "method"}
        assert prompt["params"]["prompt"] == [{"type": "text", "text": "hello"}]
    with opened(acp.client, path) as stream:
        assert _posted(stream, "session/new")["params"]["mcpServers"] == servers


def _posted(stream: IncludedStream, method: str) -> dict[str, Any]:
    while True:
        name, _, data = stream.next()
        if name == "client" and data["message"].get("method") == method:
            posted: dict[str, Any] = data["message"]
            return posted


@pytest.mark.clause("share-read-only")
def test_readers_with_a_ticket_cannot_take_all_streams(acp: Acp) -> None:
    server_id = acp.start()
    share = create(acp, server_id)
    connections = []
    try:
        for _ in range(20):
            connection = acp.client.connect()
            connections.append(connection)
            connection.send(acp.client.build("GET", acp.path(server_id), headers=bearer(share)))
            assert connection.read_head()[0] == 200
        assert_problem(read(acp.client, acp.path(server_id), share), 429, "too_many_streams")
        assert acp.client.get(shares_path(server_id)).json()["shares"][0]["readers"] == 20
    finally:
        for connection in connections:
            connection.close()
    wait_until(
        lambda: acp.client.get(shares_path(server_id)).json()["shares"][0]["readers"] == 0,
        5,
        "the end of the readers",
    )


@pytest.mark.own_server
@pytest.mark.clause("share-read-only")
def test_a_server_without_a_token_shares_nothing(start_server) -> None:
    server = started(start_server, ["--no-token"], {})
    server.client.token = None
    server.ready()
    server_id = server.acp.start()
    answer = server.client.request("POST", shares_path(server_id), headers=JSON_HEADERS, body=b"{}")
    assert_problem(answer, 409, "conflict")


@pytest.mark.own_server
@pytest.mark.clause("share-not-logged")
def test_no_ticket_is_logged(start_server) -> None:
    environ = {
        "SANDBOX_AGENT_TOKEN": "a-token",
        "SANDBOX_AGENT_LOG_HTTP": "1",
        "SANDBOX_AGENT_LOG_HTTP_HEADERS": "1",
    }
    server = started(start_server, ["--log-level", "debug"], environ)
    server.client.token = "a-token"
    server.ready()
    server_id = server.acp.start(agent=AGENT)
    share = create(server.acp, server_id)
    with shared_stream(server.acp, server_id, share):
        pass
    assert read(server.client, "/v1/agents", share).status == 401
    wait_until(lambda: "/v1/agents" in server.log(), 5, "the line of the last request")
    assert share["ticket"] not in server.log()
