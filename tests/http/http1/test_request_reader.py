"""Requests mean the same with and without the cached head, and however their bytes are cut into pieces.

A reader that caches heads is compared with one that leaves everything to httptools. Inputs are ordinary
requests, such requests with some bytes changed, and the classics of request smuggling.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.errors import HeadersTooLarge, InvalidRequest
from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.http1.incoming_request import IncomingRequest
from sandbox_agent.http.http1.request_reader import RequestReader
from tests.fuzz.effort import FUZZ

MAX_BYTES = 32 * 1024
TOKEN = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
FIRST = (
    b"POST /v1/acp/a?agent=mock HTTP/1.1\r\nHost: 127.0.0.1:2468\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4\r\nAuthorization: Bearer secret\r\nX-Length: 7\r\n\r\n"
)


def handler(exchange: Exchange) -> None:
    """Marks a head that may be used again."""


def read(pieces: Sequence[bytes], *, caches_heads: bool) -> RequestReader:
    reader = RequestReader(MAX_BYTES, caches_heads=caches_heads)
    taken: list[IncomingRequest] = []
    for piece in pieces:
        reader.feed(piece)
        _admit(reader)
        while reader.unread:
            taken += reader.requests
            reader.requests.clear()
            reader.read_on()
            _admit(reader)
    reader.requests.extendleft(reversed(taken))
    return reader


def _admit(reader: RequestReader) -> None:
    for request in reader.requests:
        request.head.handler = handler
    reader.cache_candidate()


def facts(request: IncomingRequest) -> dict[str, object]:
    head = request.head
    others = [(name, value) for name, value in head.headers if name != b"content-length"]
    return {
        "head": (head.method, head.path, head.query, others, head.http_10, head.keep_alive, repr(head.fault)),
        "length": request.content_length,
        "complete": request.complete,
        "received": request.received,
    }


def outcome(reader: RequestReader) -> tuple[list[dict[str, object]], list[bytes], str]:
    requests = list(reader.requests)
    return list(map(facts, requests)), [request.take_body() for request in requests], repr(reader.error)


def agree(*pieces: bytes) -> int:
    """Compare a reader that caches heads with one that does not; returns how many heads were cached ones."""
    with_cache = read(pieces, caches_heads=True)
    heads = [request.head for request in with_cache.requests]
    assert outcome(with_cache) == outcome(read(pieces, caches_heads=False))
    return len(heads) - len(set(map(id, heads)))


def mixed_case(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from((word, word.title(), word.upper(), word.capitalize(), word[:3] + word[3:].upper()))


SPECIAL = {"connection", "proxy-connection", "content-length", "transfer-encoding", "upgrade", "expect"}
other_names = st.text(TOKEN, min_size=1, max_size=9).filter(lambda name: name.lower() not in SPECIAL)
names = st.one_of(st.sampled_from(("Accept", "Authorization", "Cookie", "TE")), other_names)
values = st.text(" " + VISIBLE, max_size=20).map(lambda text: text.strip() or "a")


@st.composite
def ordinary(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two requests of a client: the same head with two lengths."""
    headers = draw(st.lists(st.tuples(names, values), max_size=6, unique_by=lambda pair: pair[0].lower()))
    lines = [f"{name}: {value}" for name, value in headers]
    name = draw(mixed_case("content-length"))
    at = draw(st.integers(0, len(lines)))
    method = draw(st.sampled_from(("POST", "PUT", "DELETE", "PATCH")))
    target = f"/{draw(st.text(VISIBLE, max_size=30))}"

    def request(body: bytes) -> bytes:
        zeros = "0" * draw(st.integers(0, 3))
        all_lines = [*lines[:at], f"{name}: {zeros}{len(body)}", *lines[at:]]
        text = "".join(f"{line}\r\n" for line in [f"{method} {target} HTTP/1.1", *all_lines])
        return text.encode() + b"\r\n" + body

    return request(draw(st.binary(max_size=40))), request(draw(st.binary(max_size=200)))


PIECES = st.one_of(
    st.sampled_from(
        (
            *(b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\n\n", b" ", b"\t", b":", b",", b"\0", b"\x7f", b"\x80"),
            *(b"+", b"\r\n ", b"\r\nContent-Length: 3", b"\r\nTransfer-Encoding: chunked"),
            *(b"\r\nConnection: close", b"\r\nConnection: upgrade\r\nUpgrade: h2c"),
            *(b"\r\nProxy-Connection: close", b"\r\nExpect: x", b"HTTP/1.0", b"HTTP/1.1", b"CONNECT"),
            *(b"content-length", b"close", b"http://a"),
        )
    ),
    st.binary(min_size=1, max_size=2),
)


@st.composite
def disturbed(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two equal heads, in one or both of which some bytes were inserted, replaced or removed."""
    requests = list(draw(ordinary()))
    for _ in range(draw(st.integers(1, 3))):
        which = draw(st.integers(0, 1))
        data = requests[which]
        begin = draw(st.integers(0, len(data)))
        changed = draw(st.one_of(st.just(b""), PIECES))
        requests[which] = data[:begin] + changed + data[begin + draw(st.integers(0, 3)) :]
    return requests[0], requests[1]


@pytest.mark.clause("http-plain-heads")
@FUZZ
@given(ordinary())
def test_an_equal_head_with_another_length_is_not_parsed_again_and_means_the_same(
    requests: tuple[bytes, bytes],
) -> None:
    first, second = requests
    assert agree(first, second, second) == 2


@pytest.mark.clause("http-plain-heads", "security-smuggling")
@FUZZ
@given(disturbed())
def test_a_disturbed_head_means_the_same_with_and_without_the_cache(requests: tuple[bytes, bytes]) -> None:
    agree(*requests)
    agree(*requests, requests[1])


@FUZZ
@given(st.integers(0, len(FIRST) + 1), st.integers(0, 3), st.binary(max_size=6))
@example(FIRST.index(b"4\r"), 1, b"4\r\nX: y")
@example(FIRST.index(b"4\r"), 1, b"+4")
@example(FIRST.index(b"4\r"), 1, b"4 ")
@example(FIRST.index(b"4\r"), 1, b"")
@example(FIRST.index(b"4\r"), 1, b"1" * 16)
@example(FIRST.index(b"secret"), 6, b"guess!")
@example(FIRST.index(b"X-Length: 7") + 10, 1, b"8")
def test_a_change_anywhere_in_a_cached_head_is_seen(at: int, removed: int, inserted: bytes) -> None:
    agree(FIRST + b"body", FIRST[:at] + inserted + FIRST[at + removed :] + b"body")


def test_any_byte_inserted_or_changed_anywhere_in_a_cached_head_is_seen() -> None:
    first = FIRST + b"body"
    for place in range(len(FIRST)):
        for byte in (*b"\0\t\n\r +,-0159:AZaz\x7f\x80\xff",):
            agree(first, FIRST[:place] + bytes([byte]) + FIRST[place + 1 :] + b"body")
            agree(first, FIRST[:place] + bytes([byte]) + FIRST[place:] + b"body")


@given(ordinary(), st.data())
def test_requests_are_the_same_however_their_bytes_are_cut(
    requests: tuple[bytes, bytes], data: st.DataObject
) -> None:
    whole = b"".join(requests) + requests[0]
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    assert outcome(read(pieces, caches_heads=True)) == outcome(read([whole], caches_heads=False))


def test_a_request_may_come_byte_by_byte() -> None:
    reader = read([bytes([byte]) for byte in (FIRST + b"body") * 2], caches_heads=True)
    assert [request.take_body() for request in reader.requests] == [b"body", b"body"]


def test_a_head_without_a_handler_is_parsed_again() -> None:
    reader = RequestReader(MAX_BYTES)
    for _ in range(2):
        reader.feed(FIRST + b"body")
        reader.cache_candidate()
    first, second = reader.requests
    assert first.head is not second.head


@pytest.mark.clause("security-H4")
@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n" * 40 + b"POST / HTTP/1.1\r\nContent-Length: 250\r\n\r\n" + b"x" * 250,
        b"GET / HTTP/1.1\r\n\r\n" * 40
        + b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nF0\r\n"
        + b"x" * 240
        + b"\r\n0\r\n\r\n",
    ],
    ids=["without bodies", "with bodies", "with chunked bodies"],
)
def test_few_requests_are_parsed_ahead(request_bytes: bytes) -> None:
    for offset in range(0, 200, 7):
        reader = RequestReader(MAX_BYTES)
        reader.feed(
            b"GET /%b HTTP/1.1\r\n\r\n" % (b"x" * offset) + request_bytes * (100_000 // len(request_bytes))
        )
        assert len(reader.requests) <= 200


@pytest.mark.clause("security-H5")
def test_nothing_is_kept_of_a_head_that_was_not_admitted() -> None:
    reader = RequestReader(1 << 16)
    reader.feed(b"POST / HTTP/1.1\r\nX: %b\r\nContent-Length: 0\r\n\r\n" % (b"x" * 60_000))
    head = reader.requests.popleft().head
    reader.cache_candidate()
    references = sys.getrefcount(head.headers[0][1])
    assert references == 3, "the list and the map of the head, the argument"
    assert reader._cached is None


def headed(*lines: bytes) -> bytes:
    return b"".join(line + b"\r\n" for line in (b"POST / HTTP/1.1", b"Host: a", *lines)) + b"\r\n12345"


LENGTH = b"Content-Length: 5"


@pytest.mark.clause("security-smuggling")
@pytest.mark.parametrize(
    "data",
    [
        headed(LENGTH, LENGTH),
        headed(LENGTH, b"content-length: 6"),
        headed(b"Content-Length: +5"),
        headed(b"Content-Length: -5"),
        headed(b"Content-Length: 5, 5"),
        headed(b"Content-Length: 5,5"),
        headed(b"Content-Length: 0x5"),
        headed(b"Content-Length: 5_0"),
        headed(b"Content-Length: 5 0"),
        headed(b"Content-Length: 5 "),
        headed(b"Content-Length:\t5"),
        headed(b"Content-Length:5"),
        headed(b"Content-Length: "),
        headed(b"Content-Length: \xb2"),
        headed(b"Content-Length: 18446744073709551621"),
        headed(b"Content-Length : 5"),
        headed(b"Content-Length\t: 5"),
        headed(b" Content-Length: 5"),
        headed(LENGTH, b"Transfer-Encoding: chunked"),
        headed(b"Transfer-Encoding: chunked", LENGTH),
        headed(LENGTH, b"transfer-encoding: identity"),
        headed(LENGTH, b"Transfer-Encoding : chunked"),
        headed(LENGTH, b"Transfer-Encoding:\x0bchunked"),
        headed(LENGTH, b"A: b\r\n\tTransfer-Encoding: chunked"),
        headed(LENGTH, b"A: b", b" c"),
        headed(LENGTH, b"A: b", b"\tc"),
        headed(LENGTH, b"A: b\0"),
        headed(LENGTH, b"A: b\rContent-Length: 3"),
        headed(LENGTH, b"A: b\nContent-Length: 3"),
        headed(LENGTH, b"Host: b"),
        headed(LENGTH, b"Expect: 100-continue"),
        headed(LENGTH, b"Connection: upgrade", b"Upgrade: websocket"),
        headed(LENGTH, b"Connection: close"),
        headed(LENGTH).replace(b"HTTP/1.1", b"HTTP/1.0"),
        headed(LENGTH).replace(b"\r\n", b"\n"),
        b"\r\n" + headed(LENGTH),
    ],
)
def test_what_could_be_read_in_two_ways_is_read_as_httptools_reads_it(data: bytes) -> None:
    agree(FIRST + b"body", data)
    agree(data, data)
    agree(data, data, FIRST + b"body", data)
    agree(data + data)


def test_a_request_behind_a_cached_one_is_read_too() -> None:
    reader = read([FIRST + b"body", FIRST + b"body" + FIRST + b"bod", b"y"], caches_heads=True)
    assert [request.take_body() for request in reader.requests] == [b"body", b"body", b"body"]


@pytest.mark.parametrize("method", ["BREW", "M-SEARCHES", "X" * 32])
def test_an_unknown_method_is_read_by_name_and_ends_the_connection(method: str) -> None:
    reader = read([f"{method} /a HTTP/1.1\r\nHost: a\r\n\r\n".encode()], caches_heads=True)
    (request,) = reader.requests
    assert (request.head.method, request.head.keep_alive, request.complete) == (method, False, True)
    assert reader.error is None


@pytest.mark.parametrize(
    "line",
    ["get / HTTP/1.1", "-GET / HTTP/1.1", "BREW a HTTP/1.1", "BREW / HTTP/2.0", "X" * 33 + " / HTTP/1.1"],
)
def test_anything_else_in_place_of_a_method_is_an_error(line: str) -> None:
    reader = read([f"{line}\r\nHost: a\r\n\r\n".encode()], caches_heads=True)
    assert isinstance(reader.error, InvalidRequest)
    assert not reader.requests


def test_an_unknown_method_after_another_request_is_an_error() -> None:
    data = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
    reader = read([data + data.replace(b"GET", b"BREW")], caches_heads=True)
    assert len(reader.requests) == 1
    assert isinstance(reader.error, InvalidRequest)


def test_thousands_of_pipelined_upgrades_are_read_without_recursion() -> None:
    data = b"GET / HTTP/1.1\r\nConnection: upgrade\r\nUpgrade: a\r\n\r\n" * 2000
    assert len(read([data], caches_heads=True).requests) == 2000


@pytest.mark.parametrize("size", [1, 1000, 8000])
def test_a_head_beyond_the_limit_is_an_error_however_it_is_cut(size: int) -> None:
    data = b"GET / HTTP/1.1\r\n" + b"a: " + b"x" * MAX_BYTES + b"\r\n\r\n"
    reader = read([data[at : at + size] for at in range(0, len(data), size)], caches_heads=True)
    assert isinstance(reader.error, HeadersTooLarge)
    assert not reader.requests
