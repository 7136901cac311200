"""Response heads: what is written, and what is refused because it would split the response."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest

from sandbox_agent.http.http1.response_head import InvalidHeader, date_line, encode


def test_status_line_and_headers_are_written_in_order() -> None:
    encoded, is_sized = encode(404, ((b"a", b"1"), (b"content-length", b"0")))
    assert encoded == b"HTTP/1.1 404 Not Found\r\na: 1\r\ncontent-length: 0\r\n"
    assert is_sized


@pytest.mark.parametrize(("status", "is_sized"), [(200, False), (204, True), (304, True), (599, False)])
def test_some_statuses_have_no_body_to_measure(status: int, is_sized: bool) -> None:
    encoded, found = encode(status, ((b"a", b"b"),))
    assert encoded.startswith(b"HTTP/1.1 %d " % status)
    assert found is is_sized


@pytest.mark.parametrize("value", [b"a\r\nset-cookie: x", b"a\rb", b"a\nb", b"a\0b", b"\n"])
def test_a_value_that_would_split_the_response_is_refused(value: bytes) -> None:
    with pytest.raises(InvalidHeader):
        encode(200, ((b"x", value),))


@pytest.mark.parametrize("name", [b"", b"a b", b"a:", b"a\r\nb", b"\xff", b"a\0"])
def test_a_name_that_is_no_token_is_refused(name: bytes) -> None:
    with pytest.raises(InvalidHeader):
        encode(200, ((name, b"x"),))


def test_the_date_is_in_the_form_of_http() -> None:
    name, _, value = date_line().decode().strip().partition(": ")
    assert name == "date" and value.endswith(" GMT")
    assert parsedate_to_datetime(value).tzinfo is not None
