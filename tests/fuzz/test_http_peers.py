"""Generated heads and bodies, read by this server and by httptools, h11 and uvicorn.

Valid requests, in one piece or cut anywhere, mean the same to all four. In disturbed ones the others may read
on where this server refuses, but a request that two of them accept has the same method, target and body for
both; otherwise a proxy that reads like one of them could be made to hide a request from the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.http.http1.request_reader import RequestReader
from tests.fuzz.effort import SAMPLED
from tests.fuzz.http_peers import (
    Reading,
    Seen,
    read_with_h11,
    read_with_httptools,
    read_with_uvicorn,
)

PEERS = {"httptools": read_with_httptools, "h11": read_with_h11, "uvicorn": read_with_uvicorn}
TOKEN = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
TARGET = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"#<>\\^`{|}')
HANDLED = {
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "expect",
    "host",
    "proxy-connection",
}

names = st.text(TOKEN, min_size=1, max_size=9).filter(lambda name: name.lower() not in HANDLED)
values = st.text("".join(map(chr, range(0x20, 0x7F))) + "\t\xe4\xff", max_size=20).map(str.strip)
headers = st.lists(st.tuples(names, values), max_size=5)
targets = st.text(TARGET, max_size=30).map(lambda text: "/" + text.lstrip("/"))


@st.composite
def chunks(draw: st.DrawFn, body: bytes) -> bytes:
    """A body in chunks of any size, with extensions and trailers."""
    data, at = b"", 0
    while at < len(body):
        size = draw(st.integers(1, len(body) - at))
        zeros, extension = (
            "0" * draw(st.integers(0, 2)),
            draw(st.sampled_from(("", ";a", ";a=b", ';a="b c"'))),
        )
        data += f"{zeros}{size:{draw(st.sampled_from('xX'))}}{extension}\r\n".encode()
        data += body[at : at + size] + b"\r\n"
        at += size
    trailers = draw(st.lists(st.tuples(names, values), max_size=2))
    lines = "".join(f"{name}: {value}\r\n" for name, value in trailers)
    return data + b"0\r\n" + lines.encode("latin-1") + b"\r\n"


@st.composite
def requests(draw: st.DrawFn) -> tuple[Seen, bytes]:
    """A valid request: what it says, and its bytes."""
    method = draw(st.sampled_from(("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS")))
    target = draw(targets)
    body = draw(st.one_of(st.just(b""), st.binary(max_size=60)))
    lines = [f"{name}:{draw(st.sampled_from(('', ' ', ' ' * 3)))}{value}" for name, value in draw(headers)]
    framing = draw(st.sampled_from(("length", "chunks") if body else ("none", "length", "chunks")))
    if framing == "length":
        lines.append(f"Content-Length: {len(body)}")
    elif framing == "chunks":
        lines.append(f"Transfer-Encoding: {draw(st.sampled_from(('chunked', 'Chunked')))}")
    lines = ["Host: localhost", *draw(st.permutations(lines))]
    head = f"{method} {target} HTTP/1.1\r\n" + "".join(f"{line}\r\n" for line in lines) + "\r\n"
    encoded = draw(chunks(body)) if framing == "chunks" else body
    return (method, target.encode(), body), head.encode("latin-1") + encoded


@st.composite
def cut(draw: st.DrawFn, data: bytes) -> list[bytes]:
    cuts = sorted(draw(st.lists(st.integers(0, len(data)), max_size=6)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]


PIECES = st.one_of(
    st.sampled_from(
        (
            *(
                b"\r",
                b"\n",
                b"\r\n",
                b"\r\n\r\n",
                b" ",
                b"\t",
                b":",
                b",",
                b";",
                b"\0",
                b"\x7f",
                b"\x80",
                b"0",
            ),
            *(b"+", b"\r\n ", b"\r\nContent-Length: 3", b"\r\nTransfer-Encoding: chunked"),
            *(
                b"\r\nTransfer-Encoding: identity",
                b"\r\nConnection: close",
                b"\r\nUpgrade: a",
                b"CONNECT a:1",
            ),
            *(b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"Host", b"http://b", b"?", b"#"),
        )
    ),
    st.binary(min_size=1, max_size=2),
)


@st.composite
def disturbed(draw: st.DrawFn) -> bytes:
    """Valid requests in which some bytes were inserted, replaced or removed."""
    data = b"".join(wire for _, wire in draw(st.lists(requests(), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        changed = draw(st.one_of(st.just(b""), PIECES))
        data = data[:begin] + changed + data[begin + draw(st.integers(0, 3)) :]
    return data


def read_here(pieces: Sequence[bytes]) -> Reading:
    """The requests that a handler would get."""
    reader = RequestReader(1 << 20)
    for piece in pieces:
        if piece:
            reader.feed(piece)
    seen: list[Seen] = []
    while reader.requests:
        request = reader.requests.popleft()
        head = request.head
        if head.fault is not None or not request.complete:
            return Reading(seen, head.fault is not None or reader.error is not None)
        target = head.path + (b"?" + head.query if head.query else b"")
        seen.append((head.method, target, request.take_body()))
        if not head.keep_alive:
            return Reading(seen, True)
        if not reader.requests:
            reader.read_on()
    return Reading(seen, reader.error is not None)


def alike(seen: Seen) -> Seen:
    """Without what readers leave to others: scheme and host of an absolute target, an empty query."""
    method, target, body = seen
    if not target.startswith((b"/", b"*")):
        split = urlsplit(target)
        target = (split.path or b"/") + (b"?" + split.query if split.query else b"")
    return method, target.removesuffix(b"?"), body


@pytest.mark.clause("fuzz-http-peers")
@SAMPLED
@given(st.lists(requests(), min_size=1, max_size=4), st.data())
def test_valid_requests_mean_the_same_however_they_are_cut(
    sent: list[tuple[Seen, bytes]], data: st.DataObject
) -> None:
    wire = b"".join(part for _, part in sent)
    expected = [alike(said) for said, _ in sent]
    assert [alike(seen) for seen in read_here(data.draw(cut(wire))).requests] == expected
    for peer, read in PEERS.items():
        assert [alike(seen) for seen in read([wire]).requests] == expected, peer


@pytest.mark.clause("fuzz-http-peers", "security-smuggling")
@SAMPLED
@given(disturbed())
@example(b"GET http://a?b=/c HTTP/1.1\r\nHost: a\r\n\r\n")
@example(b"CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nContent-Length: 3\r\n\r\nabc")
def test_a_disturbed_request_is_refused_or_means_the_same(wire: bytes) -> None:
    here = list(map(alike, read_here([wire]).requests))
    for peer, read in PEERS.items():
        reading = read([wire])
        there = list(map(alike, reading.requests))
        common = min(len(here), len(there))
        assert here[:common] == there[:common], peer
        if not reading.refused:
            assert len(here) <= len(there), f"{peer} does not see all requests that this server sees"
