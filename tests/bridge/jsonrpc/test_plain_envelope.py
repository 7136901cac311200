"""The look at the first messages, before msgspec is loaded: what it accepts it sees as msgspec does."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc import envelope, plain_envelope, raw_envelope
from sandbox_agent.bridge.jsonrpc.plain_json import NotPlain

_IDS = st.sampled_from(
    [
        *("0", "-0", "7", "-7", "1.0", "1e2", "true", "null", "[1]", "{}", "9" * 30, "9" * 5000),
        *('""', '"a"', '"a b"', '"\\u0061"', '"\\/"', '"/"', '"\\n"', '"\\""', '"\\\\"', '"é"', '"\x7f"'),
    ]
)
_SCALARS = st.sampled_from(
    ["1", "-0", "0.5", "1E9", "1e999", "NaN", "01", "1.", "-", '"\\q"', '"\\u12"', '"\t"']
)
_KEYS = st.sampled_from(["id", "method", "params", "result", "\\u0069d", "x", "", "\\ud800"])
_BLANKS = st.sampled_from(["", " ", "\t", "\r", "\n", " \n ", "\x0b", "\ufeff", "\xa0"])


@st.composite
def _messages(draw: st.DrawFn) -> str:
    """Objects that are JSON nearly always, with the spellings that decoders disagree on."""
    blank = draw(_BLANKS)
    values = _IDS | _SCALARS | st.just('{"id":3,"method":4}') | st.text(max_size=5).map(json.dumps)
    pairs = draw(st.lists(st.tuples(_KEYS, values), max_size=4))
    inside = ",".join(f'"{key}"{blank}:{value}{blank}' for key, value in pairs)
    return draw(_BLANKS) + "{" + blank + inside + draw(st.sampled_from(["}", "", "}}", ",}"])) + draw(_BLANKS)


@given(_messages().map(str.encode) | st.binary(max_size=40).map(lambda tail: b'{"id":' + tail))
@example(b'{"id":1,"id":"b","method":null}')
@example(b'{"id":1,"params":' + b"[" * 8000 + b"]" * 8000 + b"}")
@example(b'{"id":0,"params":-0}')
def test_what_the_first_look_accepts_it_sees_as_the_others_do(data: bytes) -> None:
    try:
        plain = plain_envelope.look(data)
    except NotPlain:
        return
    thorough = envelope.peek_thoroughly(data)
    assert (True, plain.id, plain.method) == (thorough.is_object, thorough.id, thorough.has_method)
    try:
        raw = raw_envelope.decode_object(data)
    except RecursionError:
        return
    assert (plain.id, plain.method) == (bytes(raw.id), bool(raw.method))


@pytest.mark.parametrize(
    ("text", "id", "method"),
    [
        ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"text":"a\\nb \\"c\\""}}', b"1", True),
        ('{"jsonrpc":"2.0","id":"a-1","result":{"name":"é"}}\n', b'"a-1"', False),
        ('{"jsonrpc":"2.0","method":"session/update"}', b"", True),
    ],
)
def test_ordinary_messages_are_understood_at_first_sight(text: str, id: bytes, method: bool) -> None:
    plain = plain_envelope.look(text.encode())
    assert (plain.id, plain.method) == (id, method)


def test_a_long_message_is_left_to_the_quick_look() -> None:
    with pytest.raises(NotPlain):
        plain_envelope.look(b'{"id":1,"params":"' + b"x" * 20_000 + b'"}')


_SCRIPT = """
import sys
from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.jsonrpc.scanner import NotJson

def loaded():
    return {"msgspec", "json", "re", "typing"} & set(sys.modules)

line = b'{"id":1,"method":"x"}'
assert envelope.peek(line).has_method
first = envelope.decode_object(line)
assert (first.id, first.method) == (b"1", True)
assert not loaded(), loaded()
{then}
assert "msgspec" in sys.modules
assert envelope.peek(line).has_method
assert type(envelope.decode_object(line)).__name__ == "RawEnvelope"
"""


@pytest.mark.parametrize(
    "then",
    [
        "envelope.load()",
        "assert envelope.peek(b'{\"id\":1.5}').id == b'1.5'",
        "assert not envelope.peek(b'[1]').is_object",
        "try: envelope.decode_object(b'[1]')\nexcept ValueError: pass",
        'assert envelope.peek(b\'{"x":"\\\\ud800","id":3}\').id == b\'3\'',
        "try: envelope.peek(b'{\"a\":1,}')\nexcept NotJson as error: assert 'trailing comma' in str(error)",
    ],
)
def test_msgspec_is_loaded_when_it_is_asked_for_or_needed(then: str) -> None:
    command = [sys.executable, "-I", "-c", _SCRIPT.replace("{then}", then)]
    subprocess.run(command, check=True, timeout=30)
