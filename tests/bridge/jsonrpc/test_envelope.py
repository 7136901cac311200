from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc.envelope import Envelope, id_key, peek, peek_quickly, peek_thoroughly
from sandbox_agent.bridge.jsonrpc.scanner import NotJson

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"id":1,"method":"x"}', Envelope(True, b"1", True)),
        ('{"id":null,"method":"x"}', Envelope(True, b"null", True)),
        ('{"method":null}', Envelope(True, b"", True)),
        ('{"id":"a","result":{"id":5,"method":"inner"}}', Envelope(True, b'"a"', False)),
        ('{"id":1,"id":2}', Envelope(True, b"2", False)),
        ('{"\\u0069d":7}', Envelope(True, b"7", False)),
        (' \t{ "id" : [1, {"id":2}] } ', Envelope(True, b'[1, {"id":2}]', False)),
        ("{}", Envelope(True, b"", False)),
        ("[1,2]", Envelope(False, b"", False)),
        ("42", Envelope(False, b"", False)),
        ('"id"', Envelope(False, b"", False)),
        ('{"x":"\\ud800","id":3}', Envelope(True, b"3", False)),
        ('{"x":1e400,"id":1e400}', Envelope(True, b"1e400", False)),
    ],
)
def test_both_scanners_see_the_same_envelope(text: str, kind: Envelope) -> None:
    assert peek(text.encode()) == kind
    assert peek_thoroughly(text.encode()) == kind


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b" ",
        b"{",
        b"{}}",
        b"{} {}",
        b"{]",
        b"[1,]",
        b'{"a":1,}',
        b'{"a" 1}',
        b"{1:2}",
        b'{"a":01}',
        b'{"a":1.}',
        b'{"a":+1}',
        b'{"a":NaN}',
        b'{"a":Infinity}',
        b'{"a":tru}',
        b'{"a":"\x01"}',
        b'{"a":"\\q"}',
        b'{"a":"\\u12"}',
        b'{"a":"\xff"}',
        b'{"id":"\xff"}',
        b"\xef\xbb\xbf{}",
        b"{}\x00",
        b'{"a":"b"',
        b'["\\ud800",]',
        b'{"\\ud800":1,}',
        b"]",
        b",",
        b":",
    ],
)
def test_what_is_not_json_is_refused_by_both_scanners(text: bytes) -> None:
    with pytest.raises(NotJson):
        peek(text)
    with pytest.raises(NotJson):
        peek_thoroughly(text)


def test_depth_is_no_limit() -> None:
    deep = b'{"method":"x","params":' + b'[{"a":' * 50_000 + b"1" + b"}]" * 50_000 + b',"id":9}'
    assert peek_quickly(deep) is None
    assert peek(deep) == Envelope(True, b"9", True)
    with pytest.raises(NotJson):
        peek(deep[:-1])


@given(json_values)
def test_the_scanner_accepts_all_json_and_agrees_with_the_quick_look(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    thorough = peek_thoroughly(text)
    assert thorough.is_object == isinstance(value, dict)
    assert peek_quickly(text) in (None, thorough)


@pytest.mark.clause("fuzz-lines")
@given(st.binary(max_size=40))
def test_the_scanner_agrees_with_the_standard_library_on_any_bytes(data: bytes) -> None:
    try:
        # The library also takes NaN and Infinity, and other encodings than UTF-8.
        json.loads(data.decode(), parse_constant=lambda name: json.loads("!"))
        legal = True
    except (ValueError, RecursionError):
        legal = False
    try:
        peek_thoroughly(data)
        assert legal
    except NotJson:
        assert not legal


@pytest.mark.parametrize(
    "same", [("1", "1"), ('"a"', '"\\u0061"'), ("1.0", "1.00"), ("1.0", "10e-1"), ("-0", "0")]
)
def test_spellings_of_one_value_are_one_id(same: tuple[str, str]) -> None:
    assert id_key(same[0].encode()) == id_key(same[1].encode())


def test_values_of_other_types_are_other_ids() -> None:
    spellings = [
        "1",
        "1.0",
        '"1"',
        "true",
        "false",
        "null",
        '"null"',
        "[1]",
        '["1"]',
        "[1.0]",
        '{"a":1}',
        '""',
    ]
    spellings += ["9" * 5000, "9" * 4999, "1e400", "1e401", '"\\ud800"', '"f1"', "2", "-2"]
    assert len({id_key(text.encode()) for text in spellings}) == len(spellings)
