"""Messages that are nearly all one string: the quick look sees them as the complete scanner does."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc import envelope, long_envelope
from sandbox_agent.bridge.jsonrpc.envelope import peek_thoroughly

LONG = b"bGFzdCBidXQgbm90IGxlYXN0" * 1000
_AROUND = st.lists(
    st.sampled_from(
        [
            *(b"{", b"}", b"[", b"]", b'"', b"\\", b",", b":", b" ", b"\n", b"\r", b"\t", b"\x00", b"\xff"),
            *(
                b'"id":1,',
                b'"id":[',
                b'"id":"',
                b'"method":"m",',
                b'"\\u0069d":',
                b'"params":{"text":',
                b"NaN",
            ),
            *(
                b"\\u12",
                b"\\ud800",
                b"\xc3\xa9",
                b"\xed\xa0\x80",
                b"01",
                b"1e5",
                b"null",
                b'{"a":1}',
                b'"b":2',
            ),
        ]
    ),
    max_size=8,
).map(b"".join)
_INSIDE = st.sampled_from(
    [b"", b" ", b"\t", b"\x1f", b"\x7f", b"\\", b'\\"', b"\\q", b"\xff", b"\xc3\xa9", b"1,2,"]
)


@given(_AROUND, _INSIDE, st.sampled_from([0, 2000, len(LONG) - 1, len(LONG)]), _AROUND)
@example(b'{"id":7,"params":"', b"", 0, b'"}')
@example(b'{"id":"', b"", 0, b'","method":1}')
@example(b'{"id":["', b"", 0, b'"],"method":1}')
@example(b'{"id":1,"a":"\\"', b"", 0, b'"}')
@example(b'{"id":1,"a":"\\\\', b"", 0, b'"}')
@example(b'{"id":1,"a":"b"', b"", 0, b'"c"}')
def test_what_the_quick_look_accepts_it_sees_as_the_complete_scanner_does(
    before: bytes, inside: bytes, at: int, after: bytes
) -> None:
    data = before + LONG[:at] + inside + LONG[at:] + after
    found = long_envelope.look(data)
    if found is not None:
        thorough = peek_thoroughly(data)
        assert (True, bytes(found.id), bool(found.method)) == (
            thorough.is_object,
            thorough.id,
            thorough.has_method,
        )
        assert b"\n" not in data
        assert b"\r" not in data


@pytest.mark.parametrize(
    ("before", "after", "id", "method"),
    [
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"text":"', b'"}}', b"1", True),
        (b'{"text":"', b'","id":"a"}', b'"a"', False),
        (b'{"text":"and \\"', b'","id":[2]}', b"[2]", False),
        (b' {"', b'" : {"id":5}, "method" : null} ', b"", True),
    ],
)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_a_long_string_is_no_obstacle(
    before: bytes, after: bytes, id: bytes, method: bool, kind: type[bytes]
) -> None:
    found = long_envelope.look(kind(before + LONG + after))
    assert found is not None
    assert (bytes(found.id), bool(found.method), found.is_one_line) == (id, method, True)


@pytest.mark.parametrize(
    ("before", "inside", "after"),
    [
        (b'{"id":1,"text":"', b"\x00", b'"}'),
        (b'{"id":1,"text":"', b"\xff", b'"}'),
        (b'{"id":1,"text":"', b"", b'"'),
        (b'{"id":1,"text":"', b"", b'"}}'),
        (b'{"id":"', b"", b'"}'),
        (b'{"id":1,\n"text":"', b"", b'"}'),
        (b'["', b"", b'"]'),
        (b'{"list":["a",', b"1," * 20_000, b'"b"]}'),
    ],
)
def test_what_is_of_another_kind_or_no_json_is_left_to_the_ordinary_look(
    before: bytes, inside: bytes, after: bytes
) -> None:
    assert long_envelope.look(before + LONG + inside + LONG + after) is None


def test_a_list_of_numbers_between_two_strings_is_not_taken_for_a_string(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """jiter would make an object of every number."""
    monkeypatch.setattr(long_envelope, "jiter", None)
    assert long_envelope.look(b'{"vector":[' + b"0.25," * 10_000 + b'1],"last":true}') is None


def test_a_message_of_any_length_is_looked_at() -> None:
    for size in (0, 1, 16_000, 17_000, 9_000_000):
        found = envelope.look(b'{"id":3,"method":"m","params":"%b"}' % (b"x" * size))
        assert (bytes(found.id), bool(found.method)) == (b"3", True)
