"""Generated output of an agent, in pieces, compared with the JSON reader of the standard library.

Framing, envelope and event stream are tested together, with a real agent and a real server: a line of JSON is
published byte for byte, any other line as `_adapter/invalid_stdout`, a blank line not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzz.effort import FUZZ
from tests.support.clients.event_stream import EventStream
from tests.support.server_process import ServerProcess

json_text = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
).map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass"))
# Pieces that make nearly valid lines.
shard = st.sampled_from(
    [
        b"{",
        b"}",
        b"[",
        b"]",
        b'"',
        b"\\",
        b",",
        b":",
        b"\r",
        b" ",
        b"\t",
        b"0",
        b"-",
        b"1e5",
        b"\\u12",
        b"\\ud800",
        b"\xff",
        b"\xc3",
        b"\xc3\xa9",
        b"\xef\xbb\xbf",
        b"null",
        b"NaN",
        b'{"a":1}',
        b'"id":1',
        b"{}",
        b"\x00",
        b"\x0b",
    ]
)
line = st.one_of(json_text, st.lists(shard, max_size=8).map(b"".join), st.binary(max_size=20))
output = st.lists(line, min_size=1, max_size=6).map(b"\n".join)
# Objects, torn or not, with nothing between them but line ends: the way of whole batches.
torn = st.lists(
    st.sampled_from(
        [b'{"a":1}', b"{}", b'{"a":[{}', b"{}]}", b'{"a":"}', b'{"}', b'{"b":{"c":1}', b"{}}", b'{"d":}']
    ),
    min_size=2,
    max_size=8,
).map(b"\n".join)

# Lines that are nearly all one string, with anything around it.
around = st.lists(shard, max_size=4).map(b"".join)
mostly_one_string = st.builds(
    lambda before, inside, after: (
        b'{"id":0,%b"%b%b%b"%b}' % (before, b"x" * 9000, inside, b"y" * 9000, after)
    ),
    around,
    st.just(b"") | shard,
    around,
)


def is_json(text: bytes) -> bool:
    def refuse(_: str) -> None:
        raise ValueError

    try:
        json.loads(text.decode(), parse_constant=refuse)
    except (ValueError, RecursionError):
        return False
    return True


def expected(data: bytes) -> list[bytes | None]:
    """The events of an output: the line itself, or None for one that is not JSON."""
    events: list[bytes | None] = []
    for each in data.split(b"\n"):
        if each.strip(b" \t\r"):
            bare = each.removesuffix(b"\r")
            events.append(bare.replace(b"\r", b" ") if is_json(bare) else None)
    return events


class Agent:
    def __init__(self, server: ServerProcess) -> None:
        self.acp = server.acp
        self.server_id = self.acp.start()
        self.stream: EventStream = self.acp.stream(self.server_id)
        self.stream.next_message()
        self.written = 0

    def write(self, data: bytes) -> list[bytes | None]:
        """Write the bytes and a last line; returns the events before that line, None for an invalid one."""
        self.written += 1
        end = b'{"the end of":%d}' % self.written
        text = (data + b"\n" + end + b"\n").hex()
        self.acp.notify(self.server_id, "test/write", {"hex": text})
        events = self.stream.until(lambda event: event.data == end)[:-1]
        return [None if b"_adapter/invalid_stdout" in event.data else event.data for event in events]


@pytest.fixture(scope="module")
def agent(server: ServerProcess) -> Iterator[Agent]:
    agent = Agent(server)
    yield agent
    agent.stream.close()
    agent.acp.delete(agent.server_id)


@pytest.mark.clause("fuzz-lines")
@FUZZ
@given(data=output)
def test_every_line_is_classified_as_what_it_is(agent: Agent, data: bytes) -> None:
    assert agent.write(data) == expected(data)


@pytest.mark.clause("fuzz-lines")
@FUZZ
@given(data=torn)
def test_objects_torn_by_line_ends_are_never_put_together(agent: Agent, data: bytes) -> None:
    assert agent.write(data) == expected(data)


@FUZZ
@given(data=st.lists(mostly_one_string, min_size=1, max_size=2).map(b"\n".join))
def test_long_lines_are_classified_as_what_they_are(agent: Agent, data: bytes) -> None:
    assert agent.write(data) == expected(data)
