"""Small requests that ask for much work: compressed bodies, awkward texts, deep JSON, guessed tokens."""

from __future__ import annotations

import gzip
import signal
import time
from statistics import median

import pytest

from sandbox_agent.errors import TokenInvalid
from sandbox_agent.http.access.access_check import AccessCheck
from sandbox_agent.http.http1.options import Http1Options
from sandbox_agent.http.http1.server import Http1Server
from sandbox_agent.runtime.loop import Loop
from sandbox_agent.settings import Settings
from tests.support.processes import resident_bytes
from tests.support.server_process import ServerProcess

# Long enough for any quadratic or worse handling of the text to take minutes, short enough for the limit.
LONG = 50_000
AWKWARD = {
    "last-event-id": ["9" * LONG, "+" * LONG, "0" * LONG + "x"],
    "range": ["bytes=" + "9" * LONG + "-", "bytes=" + "0-1," * (LONG // 4), "bytes=" + "-" * LONG],
    "prefer": ["wait=" + "9" * LONG, "wait;" * (LONG // 5), ", " * (LONG // 2), 'wait="' + " " * LONG],
    "accept": ["a/b," * (LONG // 4), ";" * LONG, "*/" * (LONG // 2)],
    "content-type": ["application/json;" + " " * LONG + "x", "a" * LONG],
    "authorization": ["Bearer " + " " * LONG + "x", "Bearer" * (LONG // 6)],
    "if-none-match": ['"' * LONG, "W/" * (LONG // 2), "," * LONG],
    "host": ["[" * LONG, ":" * LONG, "1" * LONG],
    "origin": ["a" * LONG, "a://" * (LONG // 4), "http://" + "." * LONG],
    "cookie": [";" * LONG],
    "x-sandbox-agent-env": ["[" * LONG, '{"a":' * (LONG // 5)],
}


@pytest.mark.clause("security-exhaustion")
@pytest.mark.parametrize("header", AWKWARD)
def test_an_awkward_header_costs_no_time(server: ServerProcess, header: str) -> None:
    (server.home / "file").write_bytes(b"content")
    for value in AWKWARD[header]:
        for method, path in (
            ("GET", "/v1/fs/file?path=file"),
            ("GET", "/v1/acp/none"),
            ("POST", "/v1/acp/none"),
        ):
            began = time.monotonic()
            answer = server.client.request(
                method, path, headers={"content-type": "application/json", header: value}, body=b"{}"
            )
            assert time.monotonic() - began < 3, (header, value[:20])
            assert 200 <= answer.status < 500, (header, value[:20], answer.body)


@pytest.mark.clause("security-exhaustion")
@pytest.mark.parametrize(
    "path",
    [
        "/v1/fs/file?path=" + "a/" * 20_000,
        "/v1/fs/file?path=" + "../" * 15_000,
        "/v1/fs/file?" + "&" * 50_000,
        "/v1/fs/file?" + "path=a&" * 7_000,
        "/v1/acp/" + "%" * 50_000,
        "/" + "/" * 50_000,
        "/ui/" + "a." * 20_000 + "!",
        "/v1/agents/" + "-" * 50_000,
    ],
)
def test_an_awkward_path_costs_no_time(server: ServerProcess, path: str) -> None:
    began = time.monotonic()
    answer = server.client.get(path)
    assert time.monotonic() - began < 3
    assert 200 <= answer.status < 500


@pytest.mark.clause("security-exhaustion")
def test_a_compressed_body_is_not_unpacked(server: ServerProcess) -> None:
    bomb = gzip.compress(b'{"a":"' + b"x" * (64 << 20) + b'"}', 9)
    before = resident_bytes(server.pid)
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    for path in ("/v1/acp/x?agent=amp", "/v1/fs/move"):
        assert server.client.request("POST", path, headers=headers, body=bomb).status == 400
    assert resident_bytes(server.pid) - before < 32 << 20


@pytest.mark.clause("security-exhaustion")
def test_deep_json_and_huge_numbers_are_read_without_a_fall(server: ServerProcess) -> None:
    deep = b'{"from":' + b"[" * 500_000 + b"]" * 500_000 + b"}"
    number = b'{"from":' + b"9" * 1_000_000 + b"}"
    headers = {"content-type": "application/json"}
    for path in ("/v1/fs/move", "/v1/agents/mock/install", "/v1/config/mcp?directory=.&mcpName=x"):
        method = "PUT" if "config" in path else "POST"
        for body in (deep, number):
            answer = server.client.request(method, path, headers=headers, body=body, timeout=20)
            assert 200 <= answer.status < 500, (path, answer.body[:300])
    assert server.client.get("/v1/health").status == 200


@pytest.mark.clause("security-exhaustion", "security-M6")
def test_a_body_in_tiny_chunks_takes_no_more_memory_than_its_size(server: ServerProcess) -> None:
    head = server.client.build(
        "POST",
        "/v1/acp/tiny?agent=amp",
        headers={"content-type": "application/json", "transfer-encoding": "chunked"},
    )
    before = resident_bytes(server.pid)
    with server.client.connect(60) as connection:
        connection.send(head)
        for _ in range(60):
            connection.send(b"2\r\n  \r\n" * 50_000)
        # The rest has been read when a later byte brings the answer: this is not JSON.
        grown = resident_bytes(server.pid) - before
        connection.send(b"1\r\nx\r\n0\r\n\r\n")
        assert connection.read_answer().status == 400
    assert grown < 48 << 20, grown


@pytest.mark.clause("security-exhaustion", "security-M5")
def test_heads_of_many_headers_take_little_memory(server: ServerProcess) -> None:
    """No token is needed for this: the heads have no end."""
    before = resident_bytes(server.pid)
    connections = [server.client.connect() for _ in range(100)]
    try:
        for connection in connections:
            connection.send(b"GET / HTTP/1.1\r\n" + b"a:\r\n" * 15_000)
            assert connection.read_answer().status == 431
        assert resident_bytes(server.pid) - before < 24 << 20
    finally:
        for connection in connections:
            connection.close()


@pytest.mark.serial
@pytest.mark.clause("security-token")
def test_the_time_to_refuse_a_token_does_not_tell_where_it_differs() -> None:
    """A long token makes an early stop visible: it would be hundreds of times quicker."""
    token = "t" * 4_000_000
    access = AccessCheck(Settings(token=token))
    first, last = b"Bearer x" + token[1:].encode(), b"Bearer " + token[1:].encode() + b"x"

    def seconds(value: bytes) -> float:
        began = time.perf_counter()
        with pytest.raises(TokenInvalid):
            access.check("GET", b"/v1/health", {b"host": b"localhost", b"authorization": value})
        return time.perf_counter() - began

    pairs = [(seconds(first), seconds(last)) for _ in range(15)]
    early, late = median(a for a, _ in pairs), median(b for _, b in pairs)
    assert late / early < 3 and early / late < 3, (early, late)


@pytest.mark.clause("security-token")
def test_refusals_of_tokens_are_alike(server: ServerProcess) -> None:
    right = server.token or ""
    bodies = set()
    for token in ("", "x", right[:-1], right + "x", right[:-1] + "x", right.upper()):
        answer = server.client.get(
            "/v1/health", headers={"authorization": f"Bearer {token}"}, authorized=False
        )
        assert answer.status == 401
        bodies.add(answer.body)
    assert len(bodies) == 1


def test_a_fault_of_one_connection_does_not_end_the_watch_over_slow_requests() -> None:
    """A reset at the wrong moment once did, and a client that sent its body slowly was never cut off."""
    looks: list[float] = []
    aborted: list[bool] = []

    class Broken:
        def check_time(self, now: float) -> None:
            looks.append(now)
            if len(looks) == 2:
                loop.stop()
            raise OSError("not connected")

        def abort(self) -> None:
            aborted.append(True)

    loop = Loop()
    server = Http1Server(
        loop, lambda exchange: None, Http1Options(max_header_bytes=1000, request_timeout_s=1, keep_alive_s=1)
    )
    server._connections.add(Broken())  # type: ignore[arg-type]
    server._tick()
    loop.call_later(10, loop.stop)
    loop.run()
    signal.set_wakeup_fd(-1)
    assert len(looks) == 2
    assert len(aborted) == 2
