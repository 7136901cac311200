"""Percent-decoding of addresses, against the standard library's."""

from __future__ import annotations

from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http.messages import decode_component

_PIECES = st.sampled_from(
    [b"%", b"%4", b"%41", b"%c3%a9", b"%C3", b"%zz", b"% 1", b"%+1", b"%_1", b"+", b"a", b"0"]
)


@given(st.lists(_PIECES).map(b"".join) | st.binary())
def test_escapes_are_decoded_once_and_stray_ones_are_literal(raw: bytes) -> None:
    expected = unquote_to_bytes(raw)
    try:
        text = expected.decode()
    except UnicodeDecodeError:
        with pytest.raises(InvalidRequest):
            decode_component(raw)
    else:
        assert decode_component(raw) == text


def test_a_plus_is_a_space_only_in_queries() -> None:
    assert decode_component(b"a+b%2B") == "a+b+"
    assert decode_component(b"a+b%2B", plus_is_space=True) == "a b+"
