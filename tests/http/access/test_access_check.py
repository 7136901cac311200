"""The comparison of tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.http.access.access_check import equal_in_constant_time


@pytest.mark.clause("decision-22")
@given(st.binary(max_size=64), st.binary(max_size=64))
def test_tokens_are_equal_only_if_all_bytes_are(given: bytes, expected: bytes) -> None:
    assert equal_in_constant_time(given, expected) == (given == expected)
    assert equal_in_constant_time(expected, expected)


@pytest.mark.parametrize("given", [b"", b"a", b"ab", b"abcd", b"abc\0", b"abd", b"\0bc", b"xbc"])
def test_a_token_that_differs_anywhere_is_refused(given: bytes) -> None:
    assert not equal_in_constant_time(given, b"abc")
