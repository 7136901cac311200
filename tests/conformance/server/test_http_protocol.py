"""HTTP/1.1 by the letter: keep-alive, pipelining, chunks, 100-continue, odd and hostile requests."""

from __future__ import annotations

import json
from email.utils import parsedate_to_datetime

import pytest

from tests.support.clients.acp import AGENT, JSON_HEADERS, Acp, message
from tests.support.clients.raw_http import Client, Connection, ConnectionClosed
from tests.support.problems import assert_problem

ECHO = message("test/echo", {"a": 1}, "e")


def echo_request(acp: Acp, server_id: str, **headers: str) -> bytes:
    return acp.client.build("POST", acp.path(server_id), headers={**JSON_HEADERS, **headers}, body=ECHO)


def test_a_connection_is_kept_alive(client: Client) -> None:
    with client.connect() as connection:
        for _ in range(5):
            connection.send(client.build("GET", "/v1/health"))
            assert connection.read_answer().body == b'{"status":"ok"}'


@pytest.mark.parametrize("cut", [0, 1, 100, 70_000], ids=lambda cut: f"cut-{cut}")
def test_messages_of_any_length_follow_each_other_on_a_connection(acp: Acp, server_id: str, cut: int) -> None:
    """Each in one go, or its last bytes by themselves."""
    with acp.client.connect() as connection:
        lengths = [20, 130_000, 130_000, 999_900, 1_000_100, 20, 300_000, 3_000_000, 3_000_000, 300_000, 20]
        for number, length in enumerate(lengths):
            body = message("test/echo", {"text": "x" * length}, number)
            request = acp.client.build("POST", acp.path(server_id), headers=JSON_HEADERS, body=body)
            at = max(0, len(request) - cut)
            connection.send(request[:at])
            connection.send(request[at:])
            answer = connection.read_answer().json()
            assert (answer["id"], len(answer["result"]["echo"]["text"])) == (number, length)


def test_a_long_upload_after_long_messages_arrives_whole(start_server) -> None:
    acp = start_server().acp
    server_id = acp.start()
    content = bytes(range(256)) * 20_000
    body = message("test/echo", {"text": "x" * 500_000}, 1)
    with acp.client.connect() as connection:
        for _ in range(3):
            connection.send(acp.client.build("POST", acp.path(server_id), headers=JSON_HEADERS, body=body))
            assert connection.read_answer().status == 200
        path = "/v1/fs/file?path=after-long-messages.bin"
        for method, sent in (("PUT", content), ("GET", b""), ("DELETE", b"")):
            target = path.replace("/file", "/entry") if method == "DELETE" else path
            connection.send(acp.client.build(method, target, body=sent))
            answer = connection.read_answer()
            assert answer.status == 200, answer.body[:200]
            if method == "GET":
                assert answer.body == content


def test_connection_close_is_honoured(client: Client) -> None:
    with client.connect() as connection:
        connection.send(client.build("GET", "/v1/health", headers={"connection": "close"}))
        answer = connection.read_answer()
        assert answer.header("connection") == "close"
        assert connection.is_closed_by_peer()


def test_http_1_0_is_answered_and_closed(client: Client) -> None:
    with client.connect() as connection:
        request = client.build("GET", "/v1/health").replace(b"HTTP/1.1", b"HTTP/1.0")
        connection.send(request)
        assert connection.read_answer().body == b'{"status":"ok"}'
        assert connection.is_closed_by_peer()


@pytest.mark.clause("http-protocol")
def test_pipelined_requests_are_answered_in_order(acp: Acp, server_id: str) -> None:
    requests = [
        acp.client.build("GET", "/v1/health"),
        echo_request(acp, server_id),
        acp.client.build("GET", "/nowhere"),
        acp.client.build("HEAD", "/v1/health"),
        acp.client.build("GET", "/v1/acp"),
    ]
    with acp.client.connect() as connection:
        connection.send(b"".join(requests))
        statuses = [connection.read_answer(to_head=number == 3).status for number in range(5)]
    assert statuses == [200, 200, 404, 200, 200]


def test_a_slow_request_does_not_let_a_pipelined_one_overtake(acp: Acp, server_id: str) -> None:
    slow = acp.client.build(
        "POST", acp.path(server_id), headers=JSON_HEADERS, body=message("test/answer_after", {"ms": 200}, "s")
    )
    with acp.client.connect() as connection:
        connection.send(slow + acp.client.build("GET", "/v1/health"))
        assert connection.read_answer().json()["id"] == "s"
        assert connection.read_answer().body == b'{"status":"ok"}'


@pytest.mark.clause("http-protocol")
def test_chunked_bodies_are_put_together(acp: Acp, server_id: str) -> None:
    headers = {**JSON_HEADERS, "transfer-encoding": "chunked"}
    head = acp.client.build("POST", acp.path(server_id), headers=headers)
    with acp.client.connect() as connection:
        connection.send(head)
        for number in range(len(ECHO)):
            connection.send(b"1\r\n" + ECHO[number : number + 1] + b"\r\n")
        connection.send(b"0\r\n\r\n")
        assert connection.read_answer().json()["result"]["echo"] == {"a": 1}
        connection.send(head + b"%X;ext=1\r\n%s\r\n0\r\nTrailer: x\r\n\r\n" % (len(ECHO), ECHO))
        assert connection.read_answer().status == 200


@pytest.mark.clause("http-protocol")
def test_a_request_may_be_split_anywhere(acp: Acp, server_id: str) -> None:
    request = echo_request(acp, server_id)
    with acp.client.connect() as connection:
        for cut in range(1, len(request)):
            connection.send(request[:cut])
            connection.send(request[cut:])
            assert connection.read_answer().status == 200


def test_a_request_may_come_byte_by_byte(acp: Acp, server_id: str) -> None:
    request = echo_request(acp, server_id)
    with acp.client.connect() as connection:
        for number in range(len(request)):
            connection.send(request[number : number + 1])
        assert connection.read_answer().status == 200


def test_bodies_of_any_length_follow_each_other_on_one_connection(acp: Acp, server_id: str) -> None:
    with acp.client.connect() as connection:
        for number, size in enumerate((1, 5, 300, 2, 70_000, 1, 200_000, 40)):
            body = message("test/echo", {"text": "x" * size}, f"n{number}")
            connection.send(acp.client.build("POST", acp.path(server_id), headers=JSON_HEADERS, body=body))
            answer = connection.read_answer()
            assert (answer.status, answer.json()["id"]) == (200, f"n{number}")
            assert answer.json()["result"]["echo"] == {"text": "x" * size}


def test_every_request_on_a_connection_is_looked_at_by_itself(start_server) -> None:
    server = start_server(token="right", settings={"SANDBOX_AGENT_MAX_BODY_BYTES": "1000"})
    server_id = server.acp.start()

    def build(size: int, **headers: str) -> bytes:
        named = {**JSON_HEADERS, "authorization": "Bearer right", **headers}
        body = message("test/none", "x" * size)
        return server.client.build("POST", server.acp.path(server_id), headers=named, body=body)

    with server.client.connect() as connection:
        for request, status in (
            (build(10), 202),
            (build(20), 202),
            (build(20, authorization="Bearer wrong"), 401),
            (build(30), 202),
            (build(30, host="evil.example"), 421),
            (build(40), 202),
            (build(40, **{"content-type": "text/plain"}), 415),
            (build(50), 202),
            (build(2000), 413),
        ):
            connection.send(request)
            assert connection.read_answer().status == status


@pytest.mark.clause("http-protocol")
def test_expect_100_continue_is_answered_before_the_body(acp: Acp, server_id: str) -> None:
    headers = {**JSON_HEADERS, "content-length": str(len(ECHO)), "expect": "100-continue"}
    with acp.client.connect() as connection:
        connection.send(acp.client.build("POST", acp.path(server_id), headers=headers))
        assert connection.read_answer().status == 100
        connection.send(ECHO)
        assert connection.read_answer().status == 200


def test_a_refusal_needs_no_100_continue(acp: Acp) -> None:
    headers = {**JSON_HEADERS, "content-length": "10", "expect": "100-continue"}
    with acp.client.connect() as connection:
        connection.send(acp.client.build("POST", "/v1/acp/x", headers=headers, authorized=False))
        assert connection.read_answer().status == 401


def test_an_empty_line_before_a_request_is_forgiven(client: Client) -> None:
    with client.connect() as connection:
        connection.send(b"\r\n" + client.build("GET", "/v1/health"))
        assert connection.read_answer().status == 200


def test_an_absolute_target_is_understood(client: Client) -> None:
    with client.connect() as connection:
        connection.send(client.build("GET", f"http://{client.authority}/v1/health"))
        assert connection.read_answer().status in (200, 400)


def test_content_encoding_of_a_request_is_ignored(acp: Acp, server_id: str) -> None:
    with acp.client.connect() as connection:
        connection.send(echo_request(acp, server_id, **{"content-encoding": "gzip"}))
        assert connection.read_answer().status == 200


def test_header_names_are_read_in_any_case(acp: Acp, server_id: str) -> None:
    request = echo_request(acp, server_id).replace(b"content-type", b"CONTENT-Type").replace(b"host", b"HOST")
    with acp.client.connect() as connection:
        connection.send(request)
        assert connection.read_answer().status == 200


def test_after_a_refused_body_the_connection_goes_on_or_ends_but_never_mixes(acp: Acp) -> None:
    """The body of a 404, 415 or 401 must not be read as the next request."""
    smuggled = acp.client.build("DELETE", "/v1/acp/victim")
    for path, headers in (("/nowhere", JSON_HEADERS), ("/v1/acp/x", {"content-type": "text/plain"})):
        with acp.client.connect() as connection:
            connection.send(acp.client.build("POST", path, headers=headers, body=smuggled))
            assert connection.read_answer().status in (404, 415)
            try:
                connection.send(acp.client.build("GET", "/v1/health"))
                after = connection.read_answer().body
            except (OSError, ConnectionClosed):
                continue
            assert after == b'{"status":"ok"}'


MALFORMED = {
    "no version": b"GET /v1/health\r\n\r\n",
    "wrong version": b"GET /v1/health HTTP/3.7\r\nhost: localhost\r\n\r\n",
    "not HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 hello\r\n\r\n",
    "junk": b"}{ not a request\r\n\r\n",
    "space before colon": b"GET /v1/health HTTP/1.1\r\nhost : localhost\r\n\r\n",
    "control character in a name": b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx\x01y: 1\r\n\r\n",
    "NUL in a value": b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx: a\x00b\r\n\r\n",
    "bad content length": b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: ten\r\n\r\n",
    "negative content length": b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
    "two content lengths": (
        b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!"
    ),
    "length and chunked": (
        b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n"
        b"transfer-encoding: chunked\r\n\r\n"
        b"0\r\n\r\n"
    ),
    "unknown transfer coding": (
        b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n0\r\n\r\n"
    ),
    "chunked not last": (
        b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked, gzip\r\n\r\n0\r\n\r\n"
    ),
    "bad chunk size": (
        b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
        b"zz\r\nhello\r\n0\r\n\r\n"
    ),
    "space in the target": b"GET /v1/ health HTTP/1.1\r\nhost: localhost\r\n\r\n",
    "folded header": b"GET /v1/health HTTP/1.1\r\nhost: localhost\r\nx: a\r\n b\r\n\r\n",
}


@pytest.mark.own_server("uvicorn answers requests that it cannot read, in its own words")
@pytest.mark.clause("decision-21")
@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_request_is_a_400_problem_and_the_connection_ends(client: Client, name: str) -> None:
    with client.connect() as connection:
        connection.send(MALFORMED[name])
        answer = connection.read_answer()
        if (name, answer.status) in {("folded header", 401), ("no version", 421)}:
            return  # obsolete forms of HTTP that may be read and then refused for what they say
        assert_problem(answer, 400, "invalid_request", "Invalid Request")
        assert connection.is_closed_by_peer()
    assert client.get("/v1/health").status == 200


def test_a_request_without_host_is_refused(client: Client) -> None:
    with client.connect() as connection:
        connection.send(
            b"GET /v1/health HTTP/1.1\r\nauthorization: Bearer %s\r\n\r\n" % client.token.encode()
        )
        assert connection.read_answer().status in (400, 421)


@pytest.mark.own_server("uvicorn accepts a second Host header")
@pytest.mark.clause("http-protocol")
def test_two_different_hosts_are_refused(client: Client) -> None:
    request = client.build("GET", "/v1/health")[:-2] + b"host: evil.example\r\n\r\n"
    with client.connect() as connection:
        connection.send(request)
        assert connection.read_answer().status in (400, 421)


@pytest.mark.clause("http-protocol", "security-smuggling")
@pytest.mark.parametrize(
    "smuggle",
    [
        b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Transfer-Encoding : chunked\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        b"Content-Length: 3, 3\r\n",
        b"Content-Length: +3\r\n",
        b"Content-Length: 0x3\r\n",
        b"Content-Length: 3 \x0b\r\n",
    ],
)
def test_a_request_that_could_be_read_in_two_ways_never_reaches_a_second_one(
    acp: Acp, server_id: str, smuggle: bytes
) -> None:
    """If the server read the tail as a request of its own, the victim instance would be closed."""
    head = acp.client.build("POST", "/nowhere", headers=JSON_HEADERS)[:-2] + smuggle + b"\r\n"
    tail = b"0\r\n\r\n" + acp.client.build("DELETE", acp.path(server_id))
    with acp.client.connect() as connection:
        connection.send(head + tail)
        answer = connection.read_answer()
        assert answer.status == 400
        assert connection.is_closed_by_peer()
    assert acp.entry(server_id) is not None


@pytest.mark.own_server("uvicorn answers requests that it cannot read, in its own words")
@pytest.mark.clause("decision-21")
@pytest.mark.parametrize("method", ["BREW", "M-SEARCH", "get", "LOCK", "CONNECT", "PRI"])
def test_unknown_methods_are_problems(client: Client, method: str) -> None:
    answer = client.request(method, "/v1/acp/x")
    assert answer.status in (400, 405)
    assert answer.header("content-type") == "application/problem+json"


@pytest.mark.own_server("uvicorn takes every upgrade to websocket for one, on any path")
def test_an_upgrade_to_websocket_that_is_not_offered_is_ignored(client: Client) -> None:
    headers = {
        "connection": "Upgrade",
        "upgrade": "websocket",
        "sec-websocket-key": "x",
        "sec-websocket-version": "13",
    }
    assert client.get("/v1/health", headers=headers).status == 200


def test_an_upgrade_that_is_not_offered_is_ignored(client: Client) -> None:
    headers = {"connection": "Upgrade, HTTP2-Settings", "upgrade": "h2c", "http2-settings": "AAMAAABk"}
    assert client.get("/v1/health", headers=headers).status == 200


@pytest.mark.own_server("uvicorn takes the end of a client's data for the end of the client")
def test_a_half_closed_client_still_gets_its_answer(acp: Acp, server_id: str) -> None:
    with acp.client.connect() as connection:
        connection.send(
            acp.client.build(
                "POST", acp.path(server_id), headers=JSON_HEADERS, body=message("test/echo", request_id=1)
            )
        )
        connection.socket.shutdown(1)
        assert connection.read_answer().status == 200


def test_a_post_after_another_client_error_is_unharmed(acp: Acp) -> None:
    with acp.client.connect() as connection:
        connection.send(acp.client.build("POST", "/v1/acp/q", headers=JSON_HEADERS, body=b"["))
        assert connection.read_answer().status == 400
        connection.send(
            acp.client.build(
                "POST",
                acp.path("after-error", AGENT),
                headers=JSON_HEADERS,
                body=message("test/echo", request_id=1),
            )
        )
        assert connection.read_answer().status == 200


def test_dates_are_in_the_form_of_http(client: Client) -> None:
    value = client.get("/v1/health").header("date")
    assert value is not None and value.endswith(" GMT")
    assert parsedate_to_datetime(value).tzinfo is not None


def test_every_problem_is_one_json_document(client: Client) -> None:
    for path in ("/nowhere", "/v1/acp/none", "/v1/acp/%ff"):
        answer = client.get(path)
        assert json.loads(answer.body)["status"] == answer.status


def test_connections_are_independent(client: Client) -> None:
    stuck: Connection = client.connect()
    try:
        stuck.send(b"POST /v1/acp/x HTTP/1.1\r\nhost: localhost\r\ncontent-length: 10\r\n\r\n")
        assert client.get("/v1/health").status == 200
    finally:
        stuck.close()
