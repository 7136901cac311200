from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc.envelope import (
    Envelope,
    load_msgspec,
    peek_in_thread,
    peek_quickly,
    peek_thoroughly,
)
from sandbox_agent.bridge.jsonrpc.scanner import NotJson


@pytest.fixture(scope="module", autouse=True)
def msgspec_is_loaded() -> None:
    load_msgspec()


def peek(data: bytes) -> Envelope:
    """As the callers do it, which run the second step in a thread if the text is long."""
    return peek_quickly(data) or peek_thoroughly(data)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"id":1,"method":"x"}', (True, b"1", True)),
        ('{"id":null,"method":"x"}', (True, b"null", True)),
        ('{"method":null}', (True, b"", True)),
        ('{"id":"a","result":{"id":5,"method":"inner"}}', (True, b'"a"', False)),
        ('{"id":1,"id":2}', (True, b"2", False)),
        ('{"\\u0069d":7}', (True, b"7", False)),
        (' \t{ "id" : [1, {"id":2}] } ', (True, b'[1, {"id":2}]', False)),
        ("{}", (True, b"", False)),
        ("[1,2]", (False, b"", False)),
        ("42", (False, b"", False)),
        ('"id"', (False, b"", False)),
        ('{"x":"\\ud800","id":3}', (True, b"3", False)),
        ('{"x":1e400,"id":1e400}', (True, b"1e400", False)),
    ],
)
def test_both_scanners_see_the_same_envelope(text: str, kind: Envelope) -> None:
    for data in (text.encode(), bytearray(text.encode())):
        for found in (peek(data), peek_thoroughly(data)):
            assert found == kind
            assert type(found[1]) is bytes, "the id is the key of a dictionary"


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
    assert peek(deep) == (True, b"9", True)
    with pytest.raises(NotJson):
        peek(deep[:-1])


@given(json_values)
def test_the_scanner_accepts_all_json_and_agrees_with_the_quick_look(value: object) -> None:
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    thorough = peek_thoroughly(text)
    assert thorough[0] == isinstance(value, dict)
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


def test_a_message_of_any_length_is_understood() -> None:
    for size in (0, 1, 16_000, 70_000, 9_000_000):
        message = b'{"id":3,"method":"m","params":"%b"}' % (b"x" * size)
        assert (peek_quickly(message) or peek_in_thread(message)) == (True, b"3", True)


@pytest.mark.parametrize("inside", [b"\x00", b"\xff", b"\\q", b'"'])
def test_a_fault_inside_a_long_string_is_found(inside: bytes) -> None:
    text = b'{"id":1,"text":"' + b"x" * 100_000 + inside + b"x" * 100_000 + b'"}'
    assert peek_quickly(text) is None
    with pytest.raises(NotJson):
        peek_thoroughly(text)


_BEFORE_MSGSPEC = """
import sys
from sandbox_agent.bridge.jsonrpc import envelope

def peek(data):
    return envelope.peek_quickly(data) or envelope.peek_thoroughly(data)

expected = (True, b"1", True)
assert peek(b'{"id":1,"method":"x"}') == expected
assert peek(b"[1]") == (False, b"", False)
assert "msgspec" not in sys.modules
%s
assert "msgspec" in sys.modules
assert envelope.peek_quickly(b'{"id":1,"method":"x"}') == expected
assert envelope.count_notifications(b'{"method":"x"}\\n') == 1
"""


@pytest.mark.parametrize(
    "then",
    [
        "envelope.load_msgspec()",
        "assert peek(b'{\"id\":1,\"method\":\"' + b'x' * 70_000 + b'\"}') == expected",
        "assert envelope.count_notifications(b'{}\\n{}\\n') == 2",
    ],
    ids=["load_msgspec", "a long message", "a block of notifications"],
)
def test_messages_are_understood_before_and_after_msgspec_is_loaded(then: str) -> None:
    subprocess.run([sys.executable, "-I", "-c", _BEFORE_MSGSPEC % then], check=True, timeout=30)
