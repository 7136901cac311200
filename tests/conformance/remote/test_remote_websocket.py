"""/acp over WebSocket: handshake, frames, close codes, resuming, and the token as a subprotocol."""

from __future__ import annotations

import json
import socket
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tests.support.clients.acp import AGENT
from tests.support.clients.raw_http import Client
from tests.support.clients.remote_acp import INITIALIZE, encode
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.ours

SETTINGS = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "40", "SANDBOX_AGENT_ACP_MAX_LINE_BYTES": "2000000"}
LIMIT_S = 8.0


class Peer:
    """One WebSocket of a client that counts what it receives."""

    def __init__(self, websocket: ClientConnection, received: int = 0) -> None:
        self.websocket = websocket
        self.received = received
        response = websocket.response
        assert response is not None
        self.id = response.headers["acp-connection-id"]
        self.secret = response.headers["acp-connection-secret"]
        self.cookies = response.headers.get_all("set-cookie")

    def send(self, message: bytes) -> None:
        self.websocket.send(message.decode())

    def next(self) -> Any:
        return json.loads(self.next_text())

    def next_text(self) -> str:
        text = self.websocket.recv(LIMIT_S)
        assert isinstance(text, str)
        self.received += 1
        return text

    def initialize(self) -> Peer:
        self.send(encode("initialize", 0, params=INITIALIZE))
        assert self.next()["id"] == 0
        return self

    def close_code(self) -> int:
        """The code with which the server closes, after the messages before it."""
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                self.next_text()
        assert closed.value.rcvd is not None
        return closed.value.rcvd.code

    def cut(self) -> None:
        """Lose the connection without a close frame."""
        self.websocket.socket.shutdown(socket.SHUT_RDWR)


@contextmanager
def opened(client: Client, path: str = f"/acp/{AGENT}", **options: Any) -> Iterator[Peer]:
    headers = {**client.auth(), **options.pop("headers", {})}
    uri = f"ws://{client.authority}{path}"
    with connect(
        uri, additional_headers=headers, open_timeout=LIMIT_S, close_timeout=LIMIT_S, **options
    ) as websocket:
        yield Peer(websocket)


def resumed(client: Client, peer: Peer, after: int | None = None, secret: str | None = None) -> Any:
    """Come back to the connection of `peer`, with everything that it has received."""
    after = peer.received if after is None else after
    path = f"/acp?connection={peer.id}&after={after}"
    return opened(client, path, headers={"acp-connection-secret": secret or peer.secret})


def refusal(client: Client, path: str, **options: Any) -> tuple[int, str]:
    with pytest.raises(InvalidStatus) as refused, opened(client, path, **options):
        pass
    response = refused.value.response
    return response.status_code, json.loads(response.body)["type"].rpartition(":")[2]


def write(peer: Peer, *lines: bytes) -> None:
    data = b"".join(line + b"\n" for line in lines)
    peer.send(encode("test/write", params={"hex": data.hex(), "answer": False}))


@pytest.fixture
def peer(module_server: ServerProcess) -> Iterator[Peer]:
    with opened(module_server.client) as peer:
        yield peer.initialize()
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-websocket", "remote-handshake")
def test_the_handshake_names_the_connection_and_sets_cookies(peer: Peer) -> None:
    assert len(peer.id) == 36
    assert peer.cookies == [
        f"acp_connection={peer.id}; Path=/; HttpOnly; SameSite=Strict",
        f"acp_secret={peer.secret}; Path=/; HttpOnly; SameSite=Strict",
    ]


@pytest.mark.clause("remote-websocket", "remote-agent-choice")
def test_refused_handshakes_are_problems(module_server: ServerProcess) -> None:
    client = module_server.client
    assert refusal(client, "/acp") == (400, "invalid_request")
    assert refusal(client, f"/acp/{AGENT}?agent=pi") == (400, "invalid_request")
    assert refusal(client, "/acp/no-such-agent") == (400, "unsupported_agent")
    assert refusal(client, "/acp?connection=unknown&after=0") == (404, "not_found")
    assert refusal(client, "/acp?connection=unknown") == (400, "invalid_request")
    assert refusal(client, "/acp?connection=unknown&after=-1") == (400, "invalid_request")
    assert module_server.acp.list() == []


@pytest.mark.own_server("uvicorn refuses it by itself, without the header")
@pytest.mark.clause("remote-websocket")
def test_a_refused_version_of_the_protocol_names_the_version_that_is_spoken(
    module_server: ServerProcess,
) -> None:
    headers = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
        "sec-websocket-version": "8",
    }
    answer = module_server.client.get(f"/acp/{AGENT}", headers=headers)
    assert answer.status == 400
    assert answer.header("sec-websocket-version") == "13"
    assert module_server.acp.list() == []


@pytest.mark.clause("remote-access")
def test_the_token_may_be_a_subprotocol(module_server: ServerProcess) -> None:
    client, token = module_server.client, module_server.token
    assert token
    anonymous = Client(client.host, client.port)
    bearer = "bearer." + urlsafe_b64encode(token.encode()).decode().rstrip("=")
    assert refusal(anonymous, f"/acp/{AGENT}") == (401, "token_invalid")
    assert refusal(anonymous, f"/acp/{AGENT}", subprotocols=["bearer.AAAA"]) == (401, "token_invalid")
    for offered, chosen in (([bearer], bearer), (["acp", bearer], "acp")):
        with opened(anonymous, subprotocols=offered) as peer:
            assert peer.websocket.subprotocol == chosen
    assert refusal(client, f"/acp/{AGENT}", origin="http://evil.test") == (403, "forbidden_origin")
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connections")


@pytest.mark.clause("remote-websocket", "remote-one-log")
def test_every_message_is_one_text_frame_in_the_order_of_the_log(
    module_server: ServerProcess, peer: Peer
) -> None:
    lines = [
        encode("session/update", params={"sessionId": "s", "n": 1}),
        b'{ "id" : 1e2 ,"result":{"b":1,"a":2, "b":3}, "x":"\\u00e9 \xc3\xa9"}',
        encode("session/request_permission", 5, params={"sessionId": "s"}),
    ]
    peer.websocket.send(b"a binary frame that is no object is ignored")
    write(peer, *lines)
    assert [peer.next_text().encode() for _ in lines] == lines
    with module_server.acp.stream(peer.id, last_event_id=1) as observer:
        assert [event.data for event in observer.take(3)] == lines
    peer.send(encode(request_id=5, result={"outcome": "x"}))
    assert peer.next()["method"] == "test/client_answered"


@pytest.mark.clause("remote-bytes")
def test_bytes_of_the_client_reach_the_agent_unchanged(peer: Peer, tmp_path: Any) -> None:
    record = f"{tmp_path}/stdin"
    peer.send(encode("test/record", 1, params={"path": record}))
    peer.next()
    body = '{"params" : {"é":1.0,"a":[ ]}, "method":"test/nothing","id":1E2,"id":100.0}'.encode()
    for sent in (body.decode(), body + b"\n"):  # use-acp sends lines as binary frames
        peer.websocket.send(sent)
        peer.next()
    with open(record, "rb") as recorded:
        assert [line.rstrip() for line in recorded] == [body, body]


@pytest.mark.clause("remote-websocket")
@pytest.mark.parametrize(
    ("text", "code"),
    [("{", -32700), ("[]", -32600), ('"text"', -32600), ("[" * 40_000, -32700), ("", -32700)],
)
def test_frames_that_are_no_message_are_answered_with_an_error(peer: Peer, text: str, code: int) -> None:
    peer.websocket.send(text)
    answer = peer.next()
    assert (answer["id"], answer["error"]["code"]) == (None, code)
    peer.send(encode("test/echo", 1))
    assert peer.next()["id"] == 1


@pytest.mark.clause("remote-websocket")
def test_two_requests_with_one_id_are_not_confused(peer: Peer) -> None:
    peer.send(encode("test/hold", 1))
    peer.send(encode("test/hold", 1))  # the same message again: a retry
    peer.send(encode("test/echo", 1))
    refused = peer.next()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    peer.send(encode("test/release", 2))
    assert {peer.next()["id"], peer.next()["id"]} == {1, 2}


@pytest.mark.clause("remote-websocket")
@pytest.mark.parametrize("first", [encode("session/new", 1), encode("initialize"), encode(request_id=1)])
def test_the_first_message_must_be_initialize(module_server: ServerProcess, first: bytes) -> None:
    with opened(module_server.client) as peer:
        peer.send(first)
        assert peer.close_code() == 1002
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-websocket")
def test_a_message_that_is_too_long_closes_the_socket_and_keeps_the_agent(
    module_server: ServerProcess,
) -> None:
    with opened(module_server.client) as peer:
        peer.initialize()
        peer.send(encode("test/echo", 1, params={"pad": "x" * 2_100_000}))
        assert peer.close_code() == 1009
    with resumed(module_server.client, peer) as again:
        again.send(encode("test/echo", 1))
        assert again.next()["id"] == 1
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-end")
@pytest.mark.parametrize("code", [1000, 1001, 4000])
def test_a_clean_close_ends_the_agent_at_once(module_server: ServerProcess, code: int) -> None:
    with opened(module_server.client) as peer:
        peer.initialize()
        peer.websocket.close(code)
    wait_until(lambda: not module_server.acp.list(), 3, "the end of the connection")


@pytest.mark.clause("remote-end")
def test_the_end_of_the_instance_and_of_the_agent_close_the_socket(module_server: ServerProcess) -> None:
    with opened(module_server.client) as peer:
        peer.initialize()
        assert module_server.acp.delete(peer.id).status == 204
        assert peer.close_code() == 1000
    with opened(module_server.client) as peer:
        peer.initialize()
        peer.send(encode("test/silent", 7))
        peer.send(encode("test/exit", params={"code": 3}))
        exited, answer = peer.next(), peer.next()
        assert exited["method"] == "_adapter/agent_exited"
        assert (answer["id"], answer["error"]["data"]["details"]["exitCode"]) == (7, 3)
        assert peer.close_code() == 1011
    assert module_server.acp.delete(peer.id).status == 204


@pytest.mark.clause("remote-websocket", "remote-resume")
def test_a_lost_connection_goes_on_where_it_was(module_server: ServerProcess) -> None:
    client = module_server.client
    with opened(client) as peer:
        peer.initialize()
        peer.send(encode("test/flood", 1, params={"count": 300}))
        first = [peer.next() for _ in range(20)]
        peer.cut()
    with resumed(client, peer) as again:
        rest = [again.next() for _ in range(281)]
        ticks = [message["params"]["n"] for message in first + rest if "method" in message]
        assert ticks == list(range(1, 301))
        again.send(encode("test/echo", 2))
        assert again.next()["id"] == 2
        assert again.id == peer.id
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-websocket")
def test_a_client_that_comes_back_takes_over(module_server: ServerProcess) -> None:
    client = module_server.client
    with opened(client) as peer:
        peer.initialize()
        with resumed(client, peer, after=0) as again:
            assert again.next()["id"] == 0
            assert peer.close_code() == 1008
            again.send(encode("test/echo", 2))
            assert again.next()["id"] == 2
            cookie = {"cookie": f"other=1; acp_secret={peer.secret}"}
            with opened(client, f"/acp?connection={peer.id}&after=2", headers=cookie) as third:
                third.send(encode("test/echo", 3))
                assert third.next()["id"] == 3
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-websocket")
def test_a_resume_needs_the_secret_and_a_position_that_is_retained(module_server: ServerProcess) -> None:
    client = module_server.client
    with opened(client) as peer:
        peer.initialize()
        path = f"/acp?connection={peer.id}&after="
        wrong = {"acp-connection-secret": "x" * len(peer.secret)}
        assert refusal(client, path + "1", headers=wrong) == (404, "not_found")
        assert refusal(client, path + "1") == (404, "not_found")
        right = {"acp-connection-secret": peer.secret}
        assert refusal(client, path + "2", headers=right) == (409, "conflict")
        assert client.get("/acp", headers={"acp-connection-id": peer.id}).status == 404
        peer.send(encode("test/echo", 1))
        assert peer.next()["id"] == 1
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")


@pytest.mark.clause("remote-detach")
def test_a_lost_connection_ends_after_its_time(start_server: Callable[..., ServerProcess]) -> None:
    server = start_server(settings={"SANDBOX_AGENT_ACP_DETACH": "1"})
    with opened(server.client) as peer:
        peer.initialize()
        peer.cut()
    wait_until(lambda: not server.acp.list(), 8, "the end of the lost connection")
    with pytest.raises(InvalidStatus), resumed(server.client, peer):
        pass


@pytest.mark.clause("remote-websocket")
def test_a_slow_client_loses_nothing(module_server: ServerProcess) -> None:
    with opened(module_server.client, max_queue=1) as peer:
        peer.initialize()
        peer.send(encode("test/flood", 1, params={"count": 5000, "size": 2000}))
        with module_server.acp.stream(peer.id) as observer:
            observer.until(lambda event: b'"n":5000,' in event.data, timeout=30)
        ticks = [
            message["params"]["n"] for message in (peer.next() for _ in range(5001)) if "params" in message
        ]
        assert ticks == list(range(1, 5001))
    wait_until(lambda: not module_server.acp.list(), 6, "the end of the connection")
