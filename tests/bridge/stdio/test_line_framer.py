from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.bridge.stdio.line_framer import DroppedLine, LineFramer

MAX = 8
OVERLONG = None
Seen = bytes | None


def feed(framer: LineFramer, data: bytes) -> list[Seen]:
    """What `feed` returns, with OVERLONG for each line that was dropped."""
    return [OVERLONG if isinstance(piece, DroppedLine) else piece for piece in framer.feed(data)]


def expected(stream: bytes) -> list[Seen]:
    """Line by line: the line with its newline, or OVERLONG. The unfinished last line is left out."""
    lines = stream.split(b"\n")[:-1]
    return [OVERLONG if len(line) > MAX else line + b"\n" for line in lines]


def lines_of(pieces: list[Seen]) -> list[Seen]:
    result: list[Seen] = []
    for piece in pieces:
        if piece is None:
            result.append(OVERLONG)
        else:
            assert piece.endswith(b"\n")
            result += [line + b"\n" for line in piece.split(b"\n")[:-1]]
    return result


@pytest.mark.clause("fuzz-lines")
@given(st.lists(st.text(alphabet="ab\n", max_size=30).map(str.encode), max_size=20))
def test_however_the_bytes_arrive_the_lines_are_the_same(chunks: list[bytes]) -> None:
    framer = LineFramer(MAX)
    seen: list[Seen] = []
    for chunk in filter(None, chunks):
        seen += feed(framer, chunk)
    stream = b"".join(chunks)
    rest = stream.rpartition(b"\n")[2]
    want = expected(stream)
    if len(rest) > MAX:
        want.append(OVERLONG)
        rest = b""
    assert lines_of(seen) == want
    assert framer.flush() == rest


def test_the_line_after_a_dropped_one_is_whole() -> None:
    framer = LineFramer(MAX)
    assert feed(framer, b"x" * 9) == [OVERLONG]
    assert feed(framer, b"x" * 100) == []
    assert feed(framer, b"end\nnext\nha") == [b"next\n"]
    assert feed(framer, b"lf\n") == [b"half\n"]


def test_a_line_of_exactly_the_limit_passes_and_one_more_byte_does_not() -> None:
    assert feed(LineFramer(MAX), b"12345678\n") == [b"12345678\n"]
    assert feed(LineFramer(MAX), b"123456789\n") == [OVERLONG]
    framer = LineFramer(MAX)
    assert feed(framer, b"a\n123456789\nb\nc") == [b"a\n", OVERLONG, b"b\n"]


def test_a_long_line_comes_alone_and_without_its_newline() -> None:
    framer = LineFramer(200_000)
    assert feed(framer, b"x" * 70_000) == []
    assert feed(framer, b"y\n") == [b"x" * 70_000 + b"y"]
    assert feed(framer, b"x" * 70_000) == []
    lines = [b"x" * 70_000 + b"y", b"z" * 20_000]
    assert feed(framer, b"y\n" + lines[1] + b"\nshort\nlines\nrest") == [*lines, b"short\nlines\n"]
    assert feed(framer, b"\n") == [b"rest\n"]


def test_a_long_line_that_ends_just_above_the_limit_is_thrown_away() -> None:
    framer = LineFramer(70_000)
    assert feed(framer, b"x" * 70_000) == []
    assert feed(framer, b"\n") == [b"x" * 70_000]
    assert feed(framer, b"x" * 69_999) == []
    assert feed(framer, b"xx\nnext\n") == [OVERLONG, b"next\n"]
