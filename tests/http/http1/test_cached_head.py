"""Which heads are cached, and what of a request is read from a cached head."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.http.http1.cached_head import MAX_LENGTH_DIGITS, CachedHead
from sandbox_agent.http.http1.request_head import RequestHead

BLOCK = b"POST /v1/acp/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nX-Length: 7\r\n\r\n"


def head_of(block: bytes) -> RequestHead:
    lines = block.split(b"\r\n")[1:-2]
    headers = [(name.lower(), value) for name, _, value in (line.partition(b": ") for line in lines)]
    head = RequestHead("POST", b"/v1/acp/a", headers, http_10=False, keep_alive=True)
    head.handler = lambda exchange: None
    return head


def cached() -> CachedHead:
    found = CachedHead.of(BLOCK, head_of(BLOCK))
    assert found is not None
    return found


@given(st.integers(0, 10**MAX_LENGTH_DIGITS - 1), st.binary(max_size=40))
def test_the_request_has_the_length_and_the_body(length: int, body: bytes) -> None:
    data = BLOCK.replace(b"Content-Length: 4", b"Content-Length: %d" % length) + body
    request = cached().read(data)
    if len(body) > length:
        assert request is None, "another request follows"
    else:
        assert request is not None
        assert (request.content_length, request.take_body()) == (length, body)


@pytest.mark.parametrize("digits", [b"", b"+4", b"4 ", b"0x4", b"4,4", b"1" * (MAX_LENGTH_DIGITS + 1)])
def test_anything_but_a_number_as_length_is_left_to_the_parser(digits: bytes) -> None:
    data = BLOCK.replace(b"Content-Length: 4", b"Content-Length: " + digits) + b"body"
    assert cached().read(data) is None


def test_a_head_that_no_handler_has_taken_matches_nothing() -> None:
    head = cached()
    head.head.handler = None
    assert head.read(BLOCK + b"body") is None


@pytest.mark.parametrize(
    "block",
    [
        BLOCK.replace(b"Content-Length: 4\r\n", b""),
        BLOCK.replace(b"Content-Length: 4", b"Content-Length:4"),
        BLOCK.replace(b"X-Length: 7", b"X: a\r\n b"),
        BLOCK.replace(b"X-Length: 7", b"X: a\rb"),
        BLOCK.replace(b"X-Length: 7", b"X: a\nb"),
        BLOCK.replace(b"X-Length: 7", b"Upgrade: websocket"),
        BLOCK.replace(b"X-Length: 7", b"Host: other"),
    ],
)
def test_unusual_heads_are_not_cached(block: bytes) -> None:
    assert CachedHead.of(block, head_of(block)) is None


@pytest.mark.parametrize(("http_10", "keep_alive"), [(True, True), (False, False)])
def test_the_last_head_of_a_connection_is_not_cached(http_10: bool, keep_alive: bool) -> None:
    headers = head_of(BLOCK).headers
    head = RequestHead("POST", b"/v1/acp/a", headers, http_10=http_10, keep_alive=keep_alive)
    assert CachedHead.of(BLOCK, head) is None
