"""The fields that route a message, however it is spelled."""

from __future__ import annotations

import json
import time
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.jsonrpc import routing_fields
from sandbox_agent.bridge.jsonrpc.message_id import id_key

DEEP = b"[" * 3000 + b"]" * 3000
LONG = b'"' + b"x" * 40_000 + b'"'


@pytest.mark.clause("remote-routing")
@given(
    st.one_of(st.integers(), st.text(), st.none()),
    st.text(min_size=1),
    st.text(),
    st.booleans(),
)
def test_every_message_of_ordinary_json_is_read(
    number: int | str | None, method: str, session: str, ascii_only: bool
) -> None:
    message = {"id": number, "method": method, "params": {"sessionId": session, "x": [1]}}
    raw = json.dumps(message, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    fields = routing_fields.read(raw)
    assert fields == (id_key(json.dumps(number).encode()), method, session)


@pytest.mark.clause("remote-routing")
@pytest.mark.parametrize(
    ("message", "method", "session"),
    [
        (b'{"method":"m"}', "m", ""),
        (b'{"method":"m","params":["sessionId"]}', "m", ""),
        (b'{"method":"m","params":{"sessionId":7}}', "m", ""),
        (b'{"method":7,"params":{"sessionId":"s"}}', "", ""),
        (b'{"params":{"sessionId":"a"},"params":{"sessionId":"b"},"method":"m"}', "m", "b"),
        (b'{"result":{"sessionId":"s"}}', "", ""),
        (b'{"method":"m","params":{"sessionId":"s","x":"\\ud800"}}', "m", "s"),
        (b'{"method":"m","params":{"sessionId":"s","x":' + DEEP + b"}}", "m", "s"),
        (b'{"method":"m","params":{"sessionId":"s","x":' + LONG + b',"y":"\\ud800"}}', "m", "s"),
    ],
)
def test_unusual_messages(message: bytes, method: str, session: str) -> None:
    fields = routing_fields.read(message)
    assert (fields.method, fields.session) == (method, session)


@pytest.mark.clause("remote-routing")
@pytest.mark.parametrize("result", [DEEP, LONG + b', "lone":"\\ud800"'])
def test_the_id_of_an_unusual_answer_is_read(result: bytes) -> None:
    assert routing_fields.read(b'{"jsonrpc":"2.0","id":"x-1","result":' + result + b"}").id == id_key(
        b'"x-1"'
    )


NUMBERS = b"[" + b"1," * (2 << 20) + b"1]"


@pytest.mark.clause("remote-routing", "security-L7")
@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (b'{"jsonrpc":"2.0","id":7,"result":%b}', (b"7", "", "")),
        (b'{"jsonrpc":"2.0","result":%b,"id":7}', (b"7", "", "")),
        (b'{"result":{"id":3,"method":"m","x":%b,"id":4},"id":"7","jsonrpc":"2.0"} ', (b'"7', "", "")),
        (b'{"result":{"x":%b,"id":4}}', (b"", "", "")),
        (b'{"method":"m","params":{"sessionId":"s","x":%b}}', (b"", "m", "s")),
        (b'{"jsonrpc":"2.0","params":{"sessionId":"s","x":%b},"method":"m","id":1}', (b"1", "m", "s")),
        (b'{"method":"m","params":{"x":{"sessionId":"t","x":%b}}}', (b"", "m", "")),
    ],
)
def test_of_a_long_message_the_beginning_and_the_end_are_read(
    message: bytes, expected: tuple[bytes, str, str]
) -> None:
    """Reading all of it would hold the event loop."""
    raw = message % NUMBERS
    times = []
    for _ in range(5):
        began = time.thread_time()
        assert routing_fields.read(raw) == expected
        times.append(time.thread_time() - began)
    assert median(times) < 0.005
