"""What RFC 9112 asks of a server, rule by rule: how a request is read, refused and answered.

Each case sends bytes, in one or several pieces, and names the statuses that come back, in order. Cases in
which uvicorn differs from the rule run against the server command only.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest

from tests.support.clients.acp import JSON_HEADERS, Acp, message
from tests.support.clients.raw_http import Client

ECHO = message("test/echo", request_id="late")
OK, BAD = (200,), (400,)
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Case(NamedTuple):
    section: str
    pieces: tuple[bytes, ...]
    statuses: tuple[tuple[int, ...], ...]
    """What each answer may have."""
    ends: bool = False
    """Whether the server closes the connection after the last answer."""
    in_uvicorn: bool = True
    """Whether uvicorn keeps the rule, too."""


def get(*lines: bytes, line: bytes = b"GET / HTTP/1.1") -> bytes:
    return b"".join(part + b"\r\n" for part in (line, b"Host: localhost", *lines)) + b"\r\n"


def post(*lines: bytes, body: bytes = b"", line: bytes = b"POST / HTTP/1.1") -> bytes:
    """A POST to a path that has none: 405, whatever the body is."""
    return get(*lines, line=line) + body


def chunked(body: bytes, *lines: bytes) -> bytes:
    return post(b"Transfer-Encoding: chunked", *lines, body=body)


def good(section: str, data: bytes, *, status: int = 200, in_uvicorn: bool = True) -> Case:
    """A request that is answered, and leaves the connection in order for the next one."""
    return Case(section, (data + GET,), ((status,), OK), in_uvicorn=in_uvicorn)


def bad(section: str, data: bytes, *statuses: int, in_uvicorn: bool = True) -> Case:
    """A request that is refused, with nothing read after it."""
    return Case(section, (data + GET,), (statuses or BAD,), ends=True, in_uvicorn=in_uvicorn)


NOT_ALLOWED = 405
CASES = {
    # ---- 2 Message
    "a request in one piece": good("2.1", GET),
    "a request byte by byte": Case("2.1", tuple(GET[at : at + 1] for at in range(len(GET))), (OK,)),
    "empty lines before a request": good("2.2", b"\r\n\r\n" + GET),
    "a bare CR in a header": bad("2.2", get(b"X: a\rb")),
    "blanks before the first header": bad("2.2", b"GET / HTTP/1.1\r\n Host: localhost\r\n\r\n"),
    "the version in lower case": bad("2.3", get(line=b"GET / http/1.1")),
    "a version without a dot": bad("2.3", get(line=b"GET / HTTP/11")),
    "version 2.0 in the form of 1.1": bad("2.5", get(line=b"GET / HTTP/2.0"), 400, 505, in_uvicorn=False),
    "version 0.9 with headers": bad("2.5", get(line=b"GET / HTTP/0.9"), 400, 505, in_uvicorn=False),
    "version 3.7": bad("2.5", get(line=b"GET / HTTP/3.7"), 400, 505),
    # ---- 3 Request line
    "no version": bad("3", b"GET /\r\nHost: localhost\r\n\r\n", in_uvicorn=False),
    "a blank in the target": bad("3", get(line=b"GET /a b HTTP/1.1")),
    "an unknown method": Case("3.1", (get(line=b"BREW / HTTP/1.1"),), ((405, 501),), in_uvicorn=False),
    "a method in lower case": bad("3.1", get(line=b"get / HTTP/1.1"), 400, 405, 501),
    "no Host": Case("3.2", (b"GET / HTTP/1.1\r\n\r\n",), (BAD,)),
    "no Host in version 1.0": Case("3.2", (b"GET / HTTP/1.0\r\n\r\n",), ((200, 421),), ends=True),
    "two Hosts": Case("3.2", (get(b"Host: localhost"),), (BAD,), in_uvicorn=False),
    "a Host that is none": Case("3.2", (GET.replace(b"localhost", b"local host"),), ((400, 421),)),
    "a Host with a port that is none": Case("3.2", (GET.replace(b"localhost", b"[::1]80"),), ((400, 421),)),
    "an absolute target": good("3.2.2", get(line=b"GET http://localhost/ HTTP/1.1")),
    "an absolute target without a path": good(
        "3.2.2", get(line=b"GET http://localhost?x=/v1/health HTTP/1.1"), in_uvicorn=False
    ),
    "an absolute target with another host": Case(
        "3.2.2", (get(line=b"GET http://evil.example/ HTTP/1.1"),), ((421,),), in_uvicorn=False
    ),
    "an absolute target without a host": Case(
        "3.2.2", (get(line=b"GET http:///v1/health HTTP/1.1"),), (BAD,), in_uvicorn=False
    ),
    "CONNECT, whose body is no request": bad(
        "3.2.3", b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\nabc", 400, 405, 501
    ),
    "OPTIONS for the whole server": good("3.2.4", get(line=b"OPTIONS * HTTP/1.1"), in_uvicorn=False),
    "another method for the whole server": Case(
        "3.2.4", (get(line=b"GET * HTTP/1.1"),), (BAD,), in_uvicorn=False
    ),
    # ---- 5 Headers
    "a header without a value": good("5", get(b"X:")),
    "blanks around a value": good("5", get(b"X: \t a b \t ")),
    "bytes beyond ASCII in a value": good("5", get(b"X: \x80\xff")),
    "no header name": bad("5", get(b": a")),
    "a control character in a name": bad("5", get(b"X\x01: a")),
    "NUL in a value": bad("5", get(b"X: a\0b")),
    "a blank before the colon": bad("5.1", get(b"X : a")),
    "a folded header": bad("5.2", get(b"X: a\r\n b"), in_uvicorn=False),
    # ---- 6 Body
    "a body with a length": good("6.2", post(b"Content-Length: 5", body=b"GET /"), status=NOT_ALLOWED),
    "a length of zero": good("6.2", post(b"Content-Length: 0"), status=NOT_ALLOWED),
    "a length that is no number": bad("6.2", post(b"Content-Length: five", body=b"hello")),
    "a negative length": bad("6.2", post(b"Content-Length: -5", body=b"hello")),
    "a length with a sign": bad("6.2", post(b"Content-Length: +5", body=b"hello")),
    "a length beyond 64 bits": bad("6.2", post(b"Content-Length: 18446744073709551617", body=b"h")),
    "two lengths": bad("6.3", post(b"Content-Length: 5", b"Content-Length: 6", body=b"hello!")),
    "a list of lengths": bad("6.3", post(b"Content-Length: 5, 6", body=b"hello!")),
    "chunks and a length": bad("6.3", chunked(b"0\r\n\r\n", b"Content-Length: 5")),
    "another transfer coding": bad("6.1", post(b"Transfer-Encoding: gzip"), 400, 501),
    "chunked before another coding": bad("6.1", post(b"Transfer-Encoding: chunked, gzip")),
    "chunks in version 1.0": bad(
        "6.1",
        post(b"Transfer-Encoding: chunked", body=b"0\r\n\r\n", line=b"POST / HTTP/1.0"),
        in_uvicorn=False,
    ),
    # ---- 7 Chunks
    "chunks": good("7.1", chunked(b"5\r\nhello\r\n00A\r\n0123456789\r\n0\r\n\r\n"), status=NOT_ALLOWED),
    "the coding in upper case": good(
        "7", post(b"Transfer-Encoding: CHUNKED", body=b"0\r\n\r\n"), status=NOT_ALLOWED
    ),
    "unknown chunk extensions": good("7.1.1", chunked(b'1;a;b="c"\r\nx\r\n0;d\r\n\r\n'), status=NOT_ALLOWED),
    "trailers": good("7.1.2", chunked(b"0\r\nX: a\r\nHost: evil.example\r\n\r\n"), status=NOT_ALLOWED),
    "a chunk size that is no number": bad("7.1", chunked(b"g\r\n")),
    "a negative chunk size": bad("7.1", chunked(b"-1\r\n")),
    "a chunk size with a prefix": bad("7.1", chunked(b"0x1\r\na\r\n")),
    "a chunk size beyond 64 bits": bad("7.1", chunked(b"10000000000000001\r\na\r\n")),
    "a chunk that is longer than its size": bad("7.1", chunked(b"1\r\nab\r\n0\r\n\r\n")),
    # ---- 9 Connection
    "version 1.0 ends": Case("9.3", (get(line=b"GET / HTTP/1.0") + GET,), (OK,), ends=True),
    "version 1.0 that asks for more": good(
        "9.3", get(b"Connection: keep-alive", line=b"GET / HTTP/1.0"), in_uvicorn=False
    ),
    "Connection: close": Case("9.6", (get(b"Connection: close") + GET,), (OK,), ends=True),
    "pipelined requests": Case("9.3.2", (GET + get(line=b"GET /none HTTP/1.1") + GET,), (OK, (404,), OK)),
}


def check(client: Client, case: Case) -> None:
    with client.connect() as connection:
        for piece in case.pieces:
            connection.send(piece)
        answers = [connection.read_answer() for _ in case.statuses]
        seen = [answer.status for answer in answers]
        assert all(status in allowed for status, allowed in zip(seen, case.statuses, strict=True)), seen
        if case.ends:
            assert connection.is_closed_by_peer()


@pytest.mark.clause("http-rfc9112", "security-L3", "security-L4")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.in_uvicorn])
def test_a_rule_of_rfc_9112(client: Client, name: str) -> None:
    check(client, CASES[name])


@pytest.mark.own_server("uvicorn differs here")
@pytest.mark.clause("http-rfc9112", "security-L2", "security-L4")
@pytest.mark.parametrize("name", [name for name, case in CASES.items() if not case.in_uvicorn])
def test_a_rule_of_rfc_9112_that_only_our_http_server_keeps(client: Client, name: str) -> None:
    check(client, CASES[name])


def echo_head(acp: Acp, server_id: str, *lines: str) -> bytes:
    """The head of a POST; its body, `ECHO`, is sent apart."""
    headers = {**JSON_HEADERS, "content-length": str(len(ECHO)), **dict(line.split(": ") for line in lines)}
    return acp.client.build("POST", acp.path(server_id), headers=headers)


@pytest.mark.clause("http-rfc9112")
def test_a_client_that_waits_for_it_is_told_to_continue(acp: Acp, server_id: str) -> None:
    """RFC 9110, 10.1.1."""
    with acp.client.connect() as connection:
        connection.send(echo_head(acp, server_id, "expect: 100-continue"))
        assert connection.read_answer().status == 100
        connection.send(ECHO)
        assert connection.read_answer().status == 200


@pytest.mark.own_server("uvicorn tells every client to continue")
@pytest.mark.clause("http-rfc9112", "security-L4")
def test_a_client_of_version_1_0_is_not_told_to_continue(acp: Acp, server_id: str) -> None:
    """RFC 9110, 10.1.1: it would take the 100 for its answer."""
    with acp.client.connect() as connection:
        head = echo_head(acp, server_id, "expect: 100-continue")
        connection.send(head.replace(b"HTTP/1.1", b"HTTP/1.0"))
        # The head has been read when a later request of another connection has its answer.
        assert acp.client.get("/v1/health").status == 200
        connection.send(ECHO)
        assert connection.read_answer().status == 200


@pytest.mark.clause("http-rfc9112", "security-M1")
@pytest.mark.parametrize("path", ["/", "/docs", "/v1/agents"])
def test_a_pipelined_request_whose_body_is_late_is_read(acp: Acp, server_id: str, path: str) -> None:
    """RFC 9112, 9.3.2: the first request is answered, then the body of the second one arrives."""
    with acp.client.connect() as connection:
        connection.send(acp.client.build("GET", path) + echo_head(acp, server_id))
        assert connection.read_answer().status == 200
        connection.send(ECHO + GET)
        assert connection.read_answer().json()["id"] == "late"
        assert connection.read_answer().status == 200


@pytest.mark.own_server("uvicorn answers the malformed request only")
@pytest.mark.clause("http-rfc9112", "security-L1")
@pytest.mark.parametrize("path", ["/", "/v1/agents"])
@pytest.mark.parametrize(
    "malformed",
    [b"nonsense\r\n\r\n", get(line=b"GET / HTTP/2.0"), get(b"X : a"), chunked(b"g\r\n"), get(*[b"a:"] * 300)],
    ids=["no request line", "version", "header", "chunk", "too many headers"],
)
def test_valid_requests_before_a_malformed_one_are_answered(
    client: Client, path: str, malformed: bytes
) -> None:
    """RFC 9112, 9.3.2, although all arrive together."""
    with client.connect() as connection:
        connection.send(client.build("GET", path) * 2 + malformed)
        assert [connection.read_answer().status for _ in range(2)] == [200, 200]
        assert connection.read_answer().status in (400, 405, 431)
        assert connection.is_closed_by_peer()


def test_an_answer_to_head_has_no_body(client: Client) -> None:
    """RFC 9112, 6.3: the next answer follows at once."""
    with client.connect() as connection:
        connection.send(get(line=b"HEAD / HTTP/1.1") + GET)
        assert connection.read_answer(to_head=True).status == 200
        assert connection.read_answer().status == 200
