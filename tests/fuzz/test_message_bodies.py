"""Bodies of messages, however cut, escaped or nested: each gets an answer, and none a 500.

A body arrives with its head or apart from it, and is read by msgspec, by the scanner, or by the scanner in a
worker thread; generated bodies are short and long enough for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.fuzz.effort import SAMPLED
from tests.support.clients.acp import JSON_HEADERS
from tests.support.clients.raw_http import Answer
from tests.support.server_process import ServerProcess

# 200 and 202: taken. 504: the agent did not understand it. 502: it ended because of it.
ANSWERED = {200, 202, 400, 409, 502, 504}
ODD_TEXT = [
    r"\ud83d",
    r"\ude00\ud83d",
    r"\u0000",
    "é€😀",
    r"\\",
    r"\"",
    "�",
    "x" * 70_000,
    r"\ud800" * 20_000,
]
ODD_NUMBERS = [
    "-0",
    "1e5",
    "1e1000000",
    "1E-1000000",
    "-1.5e+999999999999",
    "9" * 5000,
    "0.1",
    "1e" + "9" * 400,
]
texts = st.one_of(st.sampled_from(ODD_TEXT), st.text(max_size=8).map(lambda text: text.replace("\\", "\\\\")))
strings = texts.map(
    lambda text: '"' + "".join(c if c >= " " and (c != '"' or text == r"\"") else "?" for c in text) + '"'
)
scalars = st.one_of(strings, st.sampled_from([*ODD_NUMBERS, "true", "false", "null", "1", "[]", "{}"]))


@st.composite
def nested(draw: st.DrawFn) -> str:
    """A value at some depth, beyond that of the interpreter's stack too."""
    depth = draw(st.sampled_from((0, 1, 5, 990, 1500, 40_000)))
    opening, closing = draw(st.sampled_from((("[", "]"), ('{"a":', "}"), ("[ ", " ]"))))
    return opening * depth + draw(scalars) + closing * depth


@st.composite
def messages(draw: st.DrawFn) -> bytes:
    members = {"jsonrpc": '"2.0"', "params": draw(nested())}
    if draw(st.booleans()):
        members["id"] = draw(st.one_of(scalars, nested()))
    if draw(st.booleans()):
        members["method"] = draw(st.one_of(strings, scalars))
    if draw(st.booleans()):
        members[draw(st.sampled_from((r"\u0069d", r"\ud800", "", "method", "Id")))] = draw(scalars)
    blank = draw(st.sampled_from(("", " ", "\r\n\t")))
    text = "{" + f",{blank}".join(f'"{name}"{blank}:{value}' for name, value in members.items()) + "}" + blank
    data = text.encode("utf-8", "replace")
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    if draw(st.integers(0, 4)) == 0:
        at = draw(st.integers(0, len(data)))
        data = data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:]
    return data


def send(server: ServerProcess, server_id: str, body: bytes, preference: str, apart: bool) -> Answer:
    client = server.client
    headers = {**JSON_HEADERS, "prefer": preference}
    request = client.build("POST", server.acp.path(server_id, "amp"), headers=headers, body=body)
    at = len(request) - len(body) if apart else len(request)
    with client.connect(20) as connection:
        connection.send(request[:at])
        if apart and client.get("/v1/health").status == 200:  # by now the head has been read
            connection.send(request[at:])
        return connection.read_answer()


@pytest.fixture(scope="module")
def server_id(server: ServerProcess) -> str:
    """Takes the generated messages, some of which are never answered."""
    return server.acp.start()


@pytest.fixture
def fresh_id(server: ServerProcess) -> Iterator[str]:
    server_id = server.acp.start()
    yield server_id
    server.acp.delete(server_id)


@pytest.mark.clause("security-H2")
@SAMPLED
@given(body=messages(), apart=st.booleans())
@example(body=rb'{"jsonrpc":"2.0","id":1e1000000,"method":"test/echo"}', apart=True)
@example(body=rb'{"jsonrpc":"2.0","id":1e1000000,"result":1}', apart=True)
@example(body=rb'{"jsonrpc":"2.0","id":"\ud83d","method":"test/echo","params":{"text":"\ud83d"}}', apart=True)
@example(body=b'{"jsonrpc":"2.0","id":[' + b"[" * 2000 + b"]" * 2000 + b'],"method":"a"}', apart=True)
def test_every_message_gets_an_answer(
    server: ServerProcess, server_id: str, body: bytes, apart: bool
) -> None:
    answer = send(server, server_id, body, "respond-async", apart)
    assert answer.status in ANSWERED, (answer.status, answer.body[:300], body[:300])


ODD_PARAMS = {
    "half a pair": rb'"\ud83d"',
    "half a pair, long": rb'"\ud83d' + b"x" * 150_000 + b'"',
    "many escapes": b'"' + rb"\ud83d\u00e9\"" * 20_000 + b'"',
}
DEEP_PARAMS = {"deep": b"[" * 1500 + b"]" * 1500, "deep and long": b"[" * 40_000 + b"]" * 40_000}


def call(raw_id: bytes, params: bytes) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":"test/info","params":{"a":%b}}' % (raw_id, params)


@pytest.mark.clause("security-H2")
@pytest.mark.parametrize("apart", [False, True], ids=["whole", "apart"])
@pytest.mark.parametrize("raw_id", [b"7", rb'"\ud83d"', b"1.50", b"[1,[2]]"], ids=repr)
@pytest.mark.parametrize("params", ODD_PARAMS)
def test_a_request_with_odd_text_is_answered_by_the_agent(
    server: ServerProcess, fresh_id: str, params: str, raw_id: bytes, apart: bool
) -> None:
    answer = send(server, fresh_id, call(raw_id, ODD_PARAMS[params]), "wait=10", apart)
    assert (answer.status, "result" in answer.json()) == (200, True), answer.body[:300]


@pytest.mark.clause("security-H2")
@pytest.mark.parametrize("params", DEEP_PARAMS)
def test_a_request_that_its_agent_cannot_read_is_answered_in_its_time(
    server: ServerProcess, fresh_id: str, params: str
) -> None:
    """The agent of the tests ignores lines that are nested deeper than its interpreter's stack."""
    answer = send(server, fresh_id, call(b'"%b"' % params.encode(), DEEP_PARAMS[params]), "wait=1", True)
    assert answer.status == 504, answer.body[:300]
