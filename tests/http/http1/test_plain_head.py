"""Whatever `plain_head.read` understands, httptools understands in the same way; the rest is left to it.

The head that httptools makes is built from its callbacks as `Connection` builds it. Inputs are ordinary
heads, such heads with something done to them, and the classics of request smuggling.
"""

from __future__ import annotations

import subprocess
import sys

import httptools
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.http.http1.heads import RequestHead
from sandbox_agent.http.http1.plain_head import read
from tests.fuzz.effort import FUZZ

MAX_BYTES = 32 * 1024
TOKEN = "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
VISIBLE = "".join(map(chr, range(0x21, 0x7F)))
SAMPLE = (
    b"POST /v1/acp/a?agent=mock HTTP/1.1\r\nHost: 127.0.0.1:2468\r\nContent-Length: 4\r\n"
    b"Accept: */*\r\nConnection: keep-alive\r\n\r\nbody"
)


class ByHttptools:
    """What httptools makes of the first request in some bytes."""

    def __init__(self, data: bytes) -> None:
        self.head: RequestHead | None = None
        self.complete = False
        self.body = b""
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._parser = httptools.HttpRequestParser(self)
        self._parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        assert self.head is None
        self.head = RequestHead(
            self._parser.get_method().decode("ascii"),
            self._target,
            self._headers,
            http_10=self._parser.get_http_version() == "1.0",
            keep_alive=self._parser.should_keep_alive(),
        )

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.complete = True


def facts(head: RequestHead) -> dict[str, object]:
    values = {name: getattr(head, name) for name in RequestHead.__slots__}
    return {**values, "fault": repr(values["fault"])}


def agree(data: bytes) -> bool:
    """Whether `read` took it; that it did so rightly is asserted."""
    head = read(data, MAX_BYTES)
    if head is None:
        return False
    begin = data.index(b"\r\n\r\n") + 4
    length = head.content_length or 0
    assert ByHttptools(data[: begin - 1]).head is None
    other = ByHttptools(data[: begin + length])
    assert other.head is not None
    assert facts(head) == facts(other.head)
    assert other.body == data[begin : begin + length]
    assert other.complete == (len(data) - begin >= length)
    return True


def mixed_case(word: str) -> st.SearchStrategy[str]:
    return st.sampled_from((word, word.title(), word.upper(), word.capitalize(), word[:3] + word[3:].upper()))


SPECIAL = {"connection", "proxy-connection", "content-length", "transfer-encoding", "upgrade", "expect"}
other_names = st.text(TOKEN, min_size=1, max_size=9).filter(lambda name: name.lower() not in SPECIAL)
names = st.one_of(st.sampled_from(("Host", "Accept", "Authorization", "Cookie", "TE")), other_names)
values = st.text(" " + VISIBLE, max_size=20).map(lambda text: text.replace(":  ", "").strip() or "a")
bodies = st.binary(max_size=40)


@st.composite
def ordinary(draw: st.DrawFn) -> bytes:
    """A head that `read` has to take, and a part of its body, all of it, or more."""
    headers = draw(st.lists(st.tuples(names, values), max_size=6, unique_by=lambda pair: pair[0].lower()))
    rest = draw(bodies)
    extra: list[tuple[str, str]] = []
    length = 0
    if draw(st.booleans()):
        length = draw(st.integers(0, 60))
        zeros = "0" * draw(st.integers(0, 3))
        extra.append((draw(mixed_case("content-length")), f"{zeros}{length}"))
    option = draw(st.sampled_from(("", "keep-alive", "close")))
    if option:
        extra.append((draw(mixed_case("connection")), draw(mixed_case(option))))
    if option == "close":
        rest = rest[:length]
    for header in extra:
        headers.insert(draw(st.integers(0, len(headers))), header)
    method = draw(st.sampled_from(("GET", "POST", "PUT", "DELETE", "HEAD", "PATCH", "OPTIONS")))
    lines = [f"{method} /{draw(st.text(VISIBLE, max_size=30))} HTTP/1.1"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n" + rest


PIECES = st.one_of(
    st.sampled_from(
        (
            *(
                b"\r",
                b"\n",
                b"\r\n",
                b"\r\n\r\n",
                b"\n\n",
                b" ",
                b"\t",
                b":",
                b",",
                b"\0",
                b"\x7f",
                b"\x80",
                b"+",
            ),
            *(
                b"\r\n ",
                b"\r\nContent-Length: 3",
                b"\r\nTransfer-Encoding: chunked",
                b"\r\nConnection: close",
            ),
            *(b"\r\nConnection: upgrade\r\nUpgrade: h2c", b"\r\nProxy-Connection: close", b"\r\nExpect: x"),
            *(b"HTTP/1.0", b"HTTP/1.1", b"CONNECT", b"content-length", b"close", b"http://a"),
        )
    ),
    st.binary(min_size=1, max_size=2),
)


@st.composite
def disturbed(draw: st.DrawFn) -> bytes:
    """An ordinary request in which some bytes were put in, replaced or taken out."""
    data = draw(ordinary())
    for _ in range(draw(st.integers(1, 3))):
        begin = draw(st.integers(0, len(data)))
        data = data[:begin] + draw(st.one_of(st.just(b""), PIECES)) + data[begin + draw(st.integers(0, 3)) :]
    return data


@pytest.mark.clause("http-plain-heads")
@FUZZ
@given(ordinary())
def test_ordinary_heads_are_taken_and_mean_the_same_to_httptools(data: bytes) -> None:
    assert agree(data)


@pytest.mark.clause("http-plain-heads", "security-smuggling")
@FUZZ
@given(disturbed())
def test_a_disturbed_head_is_left_alone_or_means_the_same_to_httptools(data: bytes) -> None:
    agree(data)


def test_any_byte_put_or_changed_anywhere_in_a_head_is_no_cause_for_two_opinions() -> None:
    head_end = SAMPLE.index(b"body")
    taken = 0
    for place in range(head_end):
        for byte in range(256):
            taken += agree(SAMPLE[:place] + bytes([byte]) + SAMPLE[place + 1 :])
            taken += agree(SAMPLE[:place] + bytes([byte]) + SAMPLE[place:])
    assert taken > 5_000  # of some 70,000


def test_a_head_is_taken_as_soon_as_it_is_complete_and_not_before() -> None:
    head_end = SAMPLE.index(b"body")
    for size in range(len(SAMPLE) + 1):
        assert agree(SAMPLE[:size]) == (size >= head_end)


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET /a?b#c HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nCONNECTION: Close\r\n\r\n",
        b"DELETE / HTTP/1.1\r\nContent-Length: 0005\r\n\r\n12345\r\n\r\n",
        b"PUT / HTTP/1.1\r\nContent-Length: 999999999999999\r\nA: b: c  d\r\n\r\n12345",
    ],
)
def test_plain_requests_are_taken(data: bytes) -> None:
    assert agree(data)


def headed(*lines: bytes) -> bytes:
    return b"".join(line + b"\r\n" for line in (b"POST / HTTP/1.1", b"Host: a", *lines)) + b"\r\n12345"


LENGTH = b"Content-Length: 5"


@pytest.mark.clause("security-smuggling")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n\r\n",
        b"\r\nGET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\n\n",
        b"GET / HTTP/1.1\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\n\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\rB: c\r\n\r\n",
        b"GET / HTTP/1.1\r\r\n\r\n",
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/2.0\r\n\r\n",
        b"GET / http/1.1\r\n\r\n",
        b"GET /\r\n\r\n",
        b"GET  / HTTP/1.1\r\n\r\n",
        b"GET /  HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1 \r\n\r\n",
        b" GET / HTTP/1.1\r\n\r\n",
        b"GET\t/ HTTP/1.1\r\n\r\n",
        b"GET /a b HTTP/1.1\r\n\r\n",
        b"GET /\xe9 HTTP/1.1\r\n\r\n",
        b"GET /\0 HTTP/1.1\r\n\r\n",
        b"GET /\x7f HTTP/1.1\r\n\r\n",
        b"get / HTTP/1.1\r\n\r\n",
        b"GETS / HTTP/1.1\r\n\r\n",
        b"TRACE / HTTP/1.1\r\n\r\n",
        b"CONNECT a:1 HTTP/1.1\r\n\r\n",
        b"OPTIONS * HTTP/1.1\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET a HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nConnection: close\r\n\r\nGET / HTTP/1.1\r\n\r\n",
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
        headed(b"Content-Length: "),
        headed(b"Content-Length: \xb2"),
        headed(b"Content-Length: 18446744073709551621"),
        headed(b"Content-Length : 5"),
        headed(b"Content-Length\t: 5"),
        headed(b" Content-Length: 5"),
        headed(LENGTH, b"Transfer-Encoding: chunked"),
        headed(b"Transfer-Encoding: chunked"),
        headed(b"transfer-encoding: identity"),
        headed(b"Transfer-Encoding : chunked"),
        headed(b"Transfer-Encoding:\x0bchunked"),
        headed(b"A: b\r\n\tTransfer-Encoding: chunked"),
        headed(b"A: b", b" c"),
        headed(b"A: b", b"\tc"),
        headed(b"A: b\0"),
        headed(b"A: b\x7f"),
        headed(b"A: b\x01"),
        headed(b"A: b\xff"),
        headed(b"A: b\t"),
        headed(b"A: b "),
        headed(b"A:"),
        headed(b"A: "),
        headed(b"A:b"),
        headed(b"A:  b"),
        headed(b"Host: b"),
        headed(b": b"),
        headed(b"A"),
        headed(b"A b: c"),
        headed(b"A(: c"),
        headed(b"\xc3\x84: c"),
        headed(b"Upgrade: h2c"),
        headed(b"Connection: Upgrade, HTTP2-Settings", b"Upgrade: h2c", b"HTTP2-Settings: AAA"),
        headed(b"HTTP2-Settings: AAA"),
        headed(b"Connection: upgrade"),
        headed(b"Connection: keep-alive, close"),
        headed(b"Connection: close", b"Connection: keep-alive"),
        headed(b"Connection: content-length", LENGTH),
        headed(b"Proxy-Connection: close"),
        headed(b"Expect: 100-continue", LENGTH),
        headed(b"Trailer: a"),
    ],
)
def test_anything_odd_is_left_to_httptools(data: bytes) -> None:
    assert read(data, MAX_BYTES) is None


def test_no_head_is_taken_that_is_larger_than_allowed() -> None:
    """As `Connection` counts it: the target, and each header with four more."""
    data = b"GET / HTTP/1.1\r\n" + b"".join(b"%d: b\r\n" % number for number in range(40)) + b"\r\n"
    head = read(data, MAX_BYTES)
    assert head is not None
    size = 1 + sum(len(name) + len(value) + 4 for name, value in head.headers)
    limits = [limit for limit in range(len(data) + 10) if read(data + b"more", limit) is not None]
    assert limits == list(range(len(data), len(data) + 10))
    assert len(data) >= size


def test_an_ordinary_head_needs_no_parser_library() -> None:
    program = (
        "import sys; from sandbox_agent.http.http1.plain_head import read; "
        f"assert read({SAMPLE!r}, 9999); print('httptools' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "False\n"), done.stderr
