"""A head that came before is known again for what it is, and for nothing else."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.http.acp.post_options import PostOptions
from sandbox_agent.http.http1.heads import CachedHead, CachedPost
from sandbox_agent.http.http1.plain_head import read
from tests.fuzz.effort import FUZZ

MAX_BYTES = 32 * 1024
FIRST = (
    b"POST /v1/acp/a HTTP/1.1\r\nHost: 127.0.0.1:2468\r\nContent-Type: application/json\r\n"
    b"Content-Length: 4\r\nAuthorization: Bearer secret\r\nX-Length: 7\r\n\r\n"
)


def remembered(block: bytes = FIRST) -> CachedHead:
    head = read(block, MAX_BYTES)
    assert head is not None
    head.known = CachedPost("b", PostOptions(head.query, head.header_map), [])
    return CachedHead(block, head)


@given(st.integers(0, 10**15 - 1), st.binary(max_size=40), st.sampled_from((b"", b"0", b"000")))
def test_another_length_is_read_as_it_would_be_read_anew(length: int, body: bytes, zeros: bytes) -> None:
    digits = (zeros + b"%d" % length)[-15:]
    data = FIRST.replace(b"Content-Length: 4", b"Content-Length: " + digits) + body
    anew = read(data, MAX_BYTES)
    assert anew is not None
    again = remembered()
    assert again.match(data) == (again.head.known, anew.content_length, len(data) - len(body))


@FUZZ
@given(st.integers(0, len(FIRST) + 1), st.integers(0, 3), st.binary(max_size=6))
@example(FIRST.index(b"4"), 1, b"4\r\nX: y")
@example(FIRST.index(b"4"), 1, b"+4")
@example(FIRST.index(b"4"), 1, b"4 ")
@example(FIRST.index(b"4"), 1, b"")
@example(FIRST.index(b"4"), 1, b"1" * 16)
@example(FIRST.index(b"secret"), 6, b"guess!")
@example(FIRST.index(b"X-Length: 7") + 10, 1, b"8")
def test_what_is_changed_elsewhere_is_not_known(at: int, removed: int, inserted: bytes) -> None:
    data = FIRST[:at] + inserted + FIRST[at + removed :] + b"body"
    found = remembered().match(data)
    if found is not None:
        _, length, body_at = found
        anew = read(data, MAX_BYTES)
        assert anew is not None
        assert (length, body_at) == (anew.content_length, data.index(b"\r\n\r\n") + 4)
        first = read(FIRST, MAX_BYTES)
        assert first is not None
        assert (anew.method, anew.path, anew.query) == (first.method, first.path, first.query)
        others = [(name, value) for name, value in anew.headers if name != b"content-length"]
        assert others == [(name, value) for name, value in first.headers if name != b"content-length"]


def test_a_head_that_was_never_found_in_order_is_read_anew() -> None:
    again = remembered()
    again.head.known = None
    assert again.match(FIRST) is None
