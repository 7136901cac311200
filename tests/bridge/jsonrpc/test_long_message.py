"""A long message that is read in parts: the same verdict and envelope as from the complete scanner."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc import envelope, long_message
from sandbox_agent.bridge.jsonrpc.envelope import Envelope
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from tests.fuzz.effort import FUZZ

MIB = 1 << 20


@pytest.fixture(params=[1, 2, 3, 7, 40], ids=lambda size: f"parts of {size}")
def part_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Parts so short that every message is long."""
    size: int = request.param
    monkeypatch.setattr(long_message, "PART_BYTES", size)
    return size


def in_parts(data: bytes) -> Envelope | None:
    return envelope._peek_in_parts(data)


def thoroughly(data: bytes) -> Envelope | None:
    try:
        return envelope.peek_thoroughly(data)
    except NotJson:
        return None


def assert_same(data: bytes) -> None:
    """What the parts do not decide is left to the scanner; what they accept is the same."""
    assert in_parts(data) in (None, thoroughly(data)), data


TEXTS = ["", "id", "a,b", 'q"', "\\", '\\\\"', "é,€", "😀", "\ud800", "x" * 80]
NAMES = ["id", "method", "params", ",", '"', "\\", "[{"]
values = st.recursive(
    st.sampled_from([None, True, -0.5, 7, 1e300, *TEXTS]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4),
    max_leaves=25,
)


@pytest.mark.clause("security-L7")
@FUZZ
@given(value=values, ascii_only=st.booleans(), spaces=st.booleans(), size=st.integers(1, 50))
def test_legal_messages_are_understood(value: object, ascii_only: bool, spaces: bool, size: int) -> None:
    separators = (" , ", "\t: ") if spaces else (",", ":")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_message, "PART_BYTES", size)
        for message in (value, {"jsonrpc": "2.0", "x": value}):
            text = json.dumps(message, ensure_ascii=ascii_only, separators=separators)
            assert_same(text.encode("utf-8", "surrogatepass"))


STRINGS = ['"a"', '","', '"\\\\"', '"\\""', '"\\u0069d"']
TOKENS = [*"{}[],:", '"id":', '"method":', *STRINGS, "1", "true", "\\", '"', " ", "x" * 70]
AROUND = ["%s", "{%s}", '{"id":[%s]}', '{"id":1,"a":{%s},"method":2}']


@pytest.mark.clause("security-L7", "fuzz-lines")
@FUZZ
@given(tokens=st.lists(st.sampled_from(TOKENS), max_size=25), size=st.integers(1, 12))
def test_what_the_scanner_refuses_no_cut_makes_legal(tokens: list[str], size: int) -> None:
    text = "".join(tokens)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_message, "PART_BYTES", size)
        for around in AROUND:
            assert_same((around % text).encode())


@pytest.mark.parametrize(
    "text",
    [
        b"{,}",
        b'{"a":[,1]}',
        b'{"a":[1,,2]}',
        b'{"a":[1,]}',
        b'{"a":1,}',
        b'{"a":[1}]',
        b'{"a":{1,2}}',
        b'{"a":1,2}',
        b'{"a":"x"y,"b":1}',
        b'{"a":1},{"b":2}',
        b'{"a":1},',
        b'{"a":[1],2]}',
        b'{"a":\\"x","b":1}',
        b'{"' + b"k" * 90 + b'"' + b"k" * 90 + b'":1,"b":2}',
    ],
)
def test_faults_at_a_cut_are_found(text: bytes, part_bytes: int) -> None:
    assert in_parts(text) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b'{"id":1,"method":"x","params":[1,2,3]}', (True, b"1", True)),
        (b'{"result":[1,{"id":5,"method":"x"},3],"id":1}', (True, b"1", False)),
        (b'{"id":1,"id":2}', (True, b"2", False)),
        (b'{"id":null,"result":{}}', (True, b"null", False)),
        (b'{"a":[{"b":[1,2],"c":{"d":3}},4],"\\u0069d":7}', (True, b"7", False)),
        (b'{"a":"' + b"x" * 90 + b'","id":"7"}', (True, b'"7"', False)),
        (b'{"' + b"k" * 90 + b'id":3,"method":null}', (True, b"", True)),
    ],
)
def test_messages_that_are_cut_everywhere(text: bytes, expected: Envelope, part_bytes: int) -> None:
    assert envelope.peek_thoroughly(text) == expected
    assert in_parts(text) in (None, expected)
    assert envelope.peek_in_thread(text) == expected


@pytest.mark.parametrize("raw_id", [b'""', b'"' + b"x" * 300 + b'"', b"[1,2,3,4]", b'{"a":1,"b":2}'])
def test_an_id_that_may_be_cut_is_left_to_the_scanner(
    raw_id: bytes, part_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(envelope, "READ_IN_THREAD_ABOVE", 0)
    assert envelope.peek_in_thread(b'{"id":%b,"result":[1,2,3]}' % raw_id)[1] == raw_id


@pytest.mark.clause("security-L7")
@pytest.mark.parametrize(
    "value",
    [
        b"[%b1]" % (b"1," * MIB),
        b"[%b1]" % (b"[]," * MIB),
        b'"%b"' % (b"\\n" * MIB),
        b"[%b1]" % (b'"",' * MIB),
    ],
    ids=["numbers", "brackets", "escapes", "strings"],
)
def test_usual_kinds_of_long_messages_need_no_scanner(value: bytes) -> None:
    """It takes a hundred times as long."""
    data = b'{"jsonrpc":"2.0","result":%b,"id":1}' % value
    assert in_parts(data) == (True, b"1", False)
    assert max(map(len, long_message.parts_of(data))) < 3 * long_message.PART_BYTES
