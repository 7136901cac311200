"""Bytes at the socket, judged by h11: where a request ends and the next begins is no matter of taste.

A proxy that reads requests as h11 does may stand in front of this server. Whatever is sent, the server acts
on nothing that h11 would not have seen as a request, in the same order; it may refuse what h11 forgives.
"""

from __future__ import annotations

import re
import socket

import h11
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzz.effort import FUZZ
from tests.support.server_process import ServerProcess

pytestmark = pytest.mark.timeout(600)  # thousands of examples in full
# Each answer to such a request names the id, which tells what the server has taken for a request.
_ids = st.integers(0, 9).map(lambda n: b"fuzz-%d" % n)
request_line = st.builds(
    lambda method, name, version: method + b" /v1/acp/" + name + b" " + version,
    st.sampled_from([b"GET", b"DELETE", b"GET", b"get", b"G\x00T"]),
    _ids,
    st.sampled_from([b"HTTP/1.1"] * 6 + [b"HTTP/1.0", b"HTTP/2.0", b"HTTP/1.1 ", b"HTTP/01.1", b""]),
)
length = st.sampled_from(
    [b"0", b"5", b"39", b"+5", b"-1", b"5, 5", b"0x5", b"5 ", b"", b"99999999999999999999", b"5,6"]
)
header = st.one_of(
    st.builds(
        lambda sep, value: b"Content-Length" + sep + value,
        st.sampled_from([b": ", b":", b" : ", b":\t"]),
        length,
    ),
    st.sampled_from(
        [
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: xchunked",
            b"Transfer-Encoding: chunked, identity",
            b"Transfer-Encoding:\x0bchunked",
            b"Transfer-Encoding : chunked",
            b"transfer-encoding: CHUNKED",
            b"Transfer-Encoding: identity",
            b" folded: line",
            b"Connection: close",
            b"Connection: keep-alive",
            b"Expect: 100-continue",
            b"X: a\rb",
            b"X: a\x00b",
            b"Upgrade: websocket",
            b"Content-Type: application/json",
            b"",
        ]
    ),
)
body = st.sampled_from(
    [
        b"",
        b"hello",
        b"0\r\n\r\n",
        b"5\r\nhello\r\n0\r\n\r\n",
        b"5;ext=1\r\nhello\r\n0\r\nTrailer: x\r\n\r\n",
        b"5\nhello\n0\n\n",
        b"0x5\r\nhello\r\n0\r\n\r\n",
        b"5 \r\nhello\r\n0\r\n\r\n",
        b"GET /v1/acp/fuzz-hidden HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"27\r\nGET /v1/acp/fuzz-inner HTTP/1.1\r\nHost: x\r\n0\r\n\r\n",
    ]
)
line_end = st.sampled_from([b"\r\n"] * 12 + [b"\n", b"\r", b"\r\r\n"])


@st.composite
def requests(draw: st.DrawFn, token: bytes = b"") -> bytes:
    fields = [b"Host: localhost", b"Authorization: Bearer TOKEN", *draw(st.lists(header, max_size=3))]
    data = draw(request_line)
    for field in fields:
        data += draw(line_end) + field
    return data + draw(line_end) + draw(line_end) + draw(body)


wire = st.lists(requests(), min_size=1, max_size=3).map(b"".join)


def seen_by_h11(data: bytes) -> list[str]:
    """The ids of the requests with a token that h11 finds, up to the first thing it does not understand."""
    found: list[str] = []
    data = data.lstrip(b"\r\n")
    while data:
        connection = h11.Connection(h11.SERVER)
        connection.receive_data(data)
        try:
            while not isinstance(event := connection.next_event(), h11.EndOfMessage):
                if isinstance(event, h11.Request):
                    # Without the token it is answered, and nothing is done.
                    if any(name == b"authorization" for name, _ in event.headers):
                        found.append(_id(event.target))
                elif event in (h11.NEED_DATA, h11.PAUSED) or isinstance(event, h11.ConnectionClosed):
                    return found
        except h11.RemoteProtocolError:
            return found
        rest, _ = connection.trailing_data
        # RFC 9112, 2.2: empty lines before a request are to be ignored; h11 does not.
        data = rest.lstrip(b"\r\n")
    return found


def _id(target: bytes) -> str:
    return target.rpartition(b"/")[2].decode("latin-1")


def acted_on(server: ServerProcess, data: bytes) -> tuple[list[str], bytes]:
    """The ids in the server's answers, and all that it said."""
    with server.client.connect(10) as connection:
        connection.send(data)
        connection.socket.shutdown(socket.SHUT_WR)
        try:
            said = connection.read_to_end()
        except ConnectionResetError:
            return [], b""
    return re.findall(r"session not found: (fuzz-\w+)", said.decode("latin-1")), said


@pytest.mark.clause("fuzz-http", "security-smuggling")
@FUZZ
@given(data=wire)
@example(
    data=b"GET /v1/acp/fuzz-2 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n"
    b"Transfer-Encoding: xchunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
)
@example(data=b"GET /v1/acp/fuzz-1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n" * 2)
@example(
    data=b"GET /v1/acp/fuzz-1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n"
    b"GET /v1/acp/fuzz-hidden HTTP/1.1\r\nHost: localhost\r\n\r\n"
    b"GET /v1/acp/fuzz-1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer TOKEN\r\n\r\n"
)
def test_the_server_sees_no_request_that_h11_does_not_see(server: ServerProcess, data: bytes) -> None:
    data = data.replace(b"TOKEN", (server.token or "").encode())
    acted, said = acted_on(server, data)
    seen = seen_by_h11(data)
    assert acted == seen[: len(acted)], (data, acted, seen, said)
    assert b"internal_error" not in said and b" 500 " not in said


@pytest.mark.clause("fuzz-http")
@FUZZ
@given(data=st.binary(min_size=1, max_size=300))
def test_noise_is_refused_and_never_a_fault(server: ServerProcess, data: bytes) -> None:
    _, said = acted_on(server, data)
    assert b" 500 " not in said
    assert not said or said.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), said[:200]
