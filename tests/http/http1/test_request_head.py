"""What follows from a request line and headers: path, query, host, and why a request is refused."""

from __future__ import annotations

import pytest

from sandbox_agent.http.http1.request_head import RequestHead

HOST = (b"host", b"localhost")


def head(
    target: bytes, *headers: tuple[bytes, bytes], method: str = "GET", http_10: bool = False
) -> RequestHead:
    return RequestHead(method, target, list(headers or (HOST,)), http_10=http_10, keep_alive=True)


@pytest.mark.clause("security-L2")
@pytest.mark.parametrize(
    ("target", "path", "query", "host"),
    [
        (b"/a/b?c=d", b"/a/b", b"c=d", b"localhost"),
        (b"http://x:1/a?b", b"/a", b"b", b"x:1"),
        (b"http://x", b"/", b"", b"x"),
        (b"http://x?a=/v1/health", b"/", b"a=/v1/health", b"x"),
        (b"http://x?a=http://y/z", b"/", b"a=http://y/z", b"x"),
        (b"/a?b=http://y/z", b"/a", b"b=http://y/z", b"localhost"),
        (b"HTTPS://user@x/", b"/", b"", b"user@x"),
    ],
)
def test_a_target_is_split_and_an_absolute_one_names_the_host(
    target: bytes, path: bytes, query: bytes, host: bytes
) -> None:
    found = head(target)
    assert (found.path, found.query, found.fault) == (path, query, None)
    assert found.header_map[b"host"] == host
    assert found.headers == [(b"host", host)]


def faulty(found: RequestHead) -> bool:
    return found.fault is not None and found.fault.status == 400


@pytest.mark.clause("security-L4")
def test_a_request_needs_one_host_unless_it_is_of_version_1_0() -> None:
    other = (b"x", b"y")
    assert faulty(head(b"/", other))
    assert faulty(head(b"http://x/", other))
    assert faulty(head(b"/", HOST, HOST))
    assert faulty(head(b"http:///a"))
    assert not faulty(head(b"/", other, http_10=True))


@pytest.mark.parametrize("target", [b"/a#b", b"/a?b#c", b"http://x#/v1/health"])
def test_a_target_has_no_fragment(target: bytes) -> None:
    assert faulty(head(target))


def test_the_target_of_the_whole_server_is_for_options() -> None:
    assert faulty(head(b"*"))
    assert not faulty(head(b"*", method="OPTIONS"))


def test_version_1_0_has_neither_chunks_nor_continue() -> None:
    chunked = head(b"/", (b"transfer-encoding", b"chunked"), http_10=True)
    assert faulty(chunked) and not chunked.keep_alive
    expecting = (HOST, (b"expect", b"100-Continue"))
    assert head(b"/", *expecting).expects_continue
    assert not head(b"/", *expecting, http_10=True).expects_continue
