"""Blocks of frames: found, cut and counted without being understood."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.eventlog import sse_frames

texts = st.lists(
    st.binary(min_size=1, max_size=60).map(lambda b: b.replace(b"\n", b"")), min_size=1, max_size=12
)


def wire(number: int, line: bytes) -> bytes:
    clean = line.replace(b"\r", b" ")
    return b"event: message\nid: %d\ndata: %b\n\n" % (number, clean)


@given(texts, st.integers(1, 10**9), st.data())
def test_a_block_can_be_cut_before_any_of_its_events(
    lines: list[bytes], first: int, data: st.DataObject
) -> None:
    block = sse_frames.encode(first, lines)
    assert block == b"".join(wire(first + n, line) for n, line in enumerate(lines))
    assert sse_frames.first_number(block) == first
    assert sse_frames.last_number(block) == first + len(lines) - 1
    skip = data.draw(st.integers(0, len(lines) - 1))
    rest = b"".join(wire(first + n, line) for n, line in enumerate(lines) if n >= skip)
    assert sse_frames.from_number(block, first + skip) == rest
    assert sse_frames.before(block, rest) + rest == block
    assert sse_frames.newest(block) == wire(first + len(lines) - 1, lines[-1])


@given(texts, st.integers(-5, 1200))
def test_cut_at_a_byte_it_begins_with_the_next_whole_event(lines: list[bytes], position: int) -> None:
    block = sse_frames.encode(7, lines)
    starts = [sum(len(wire(7 + n, lines[n])) for n in range(count)) for count in range(len(lines) + 1)]
    expected = min((start for start in starts if start >= position), default=None)
    assert sse_frames.from_byte(block, position) == (b"" if expected is None else block[expected:])


def test_a_long_event_is_a_block_of_its_own_and_is_never_copied() -> None:
    line = b'"' + b"x" * 100_000 + b'"'
    block = sse_frames.encode_line(5, line)
    assert isinstance(block, tuple)
    assert block[1] is line
    assert b"".join(sse_frames.pieces_of([block])) == wire(5, line)
    assert sse_frames.size_of(block) == len(wire(5, line))
    assert sse_frames.from_number(block, 5) is block
    assert sse_frames.from_byte(block, 1) == b""


@given(st.lists(texts, min_size=1, max_size=8), st.data())
def test_events_are_taken_from_anywhere_and_every_one_once(
    batches: list[list[bytes]], data: st.DataObject
) -> None:
    blocks, everything, number = [], {}, 1
    for lines in batches:
        blocks.append(sse_frames.encode(number, lines))
        for line in lines:
            everything[number] = wire(number, line)
            number += 1
    last = number - 1
    at = data.draw(st.integers(1, last))
    expected = b"".join(everything[n] for n in range(at, last + 1))
    seen = b""
    while at <= last:
        taken = sse_frames.take(blocks, 0, last, at, data.draw(st.integers(1, 400)))
        assert taken.first == at
        seen += b"".join(taken.pieces)
        at = taken.last + 1
    assert seen == expected
