"""SSE frames: the form in which events are published, kept in memory, written to disk and sent.

A block is one or more consecutive frames. A frame begins with the number of its event and ends with an empty
line, the only one in it, because the text of an event has no line ends. One long event is a block of three
pieces, which saves a copy of it.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

from sandbox_agent.bridge.stdio.split_lines import CR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    Block = bytes | tuple[bytes, ...]

_HEAD = b"event: message\nid: %d\ndata: "
_BEFORE_NUMBER = len(b"event: message\nid: ")
_BEFORE_DATA = b"\ndata: "
_END = b"\n\n"
_BETWEEN_NUMBERS = _END + b"event: message\nid: "
_BETWEEN = _END + _HEAD
_PERCENT = ord("%")
_FRAME = _HEAD + b"%b" + _END
# Formatting copies a line once more than joining, but costs less per line.
_LONG_LINE_BYTES = 1024
# An event longer than this is a block of its own, in three pieces.
LONG_EVENT_BYTES = 16 * 1024
_JOINED_BYTES = 64 * 1024
# Pieces per system call; the kernel takes 1024.
_PIECES = 500


class Frames:
    """Consecutive events in memory, ready to be sent."""

    __slots__ = ("first", "last", "pieces")

    def __init__(self, first: int, last: int, pieces: Sequence[bytes]) -> None:
        self.first = first
        self.last = last
        self.pieces = pieces


def encode_line(number: int, line: bytes) -> Block:
    if CR in line:
        line = line.replace(b"\r", b" ")
    if len(line) > LONG_EVENT_BYTES:
        return (_HEAD % number, line, _END)
    return _FRAME % (number, line)


def encode(first: int, lines: Sequence[bytes]) -> bytes:
    if len(lines[0]) > _LONG_LINE_BYTES:
        parts: list[bytes] = []
        for number, line in enumerate(lines, first):
            parts += (_HEAD % number, line, _END)
        data = b"".join(parts)
    else:
        data = b"".join([_FRAME % event for event in enumerate(lines, first)])
    # JSON allows a raw CR between tokens; in SSE it would end the line.
    return data.replace(b"\r", b" ") if CR in data else data


def encode_block(first: int, block: bytes, count: int) -> bytes | None:
    """The frames of a block that ends with a newline and has no CR; None unless it has `count` lines."""
    template = block.replace(b"%", b"%%") if _PERCENT in block else block
    # Each newline becomes the head of the next frame; the last one is one too many.
    framed = template.replace(b"\n", _BETWEEN)
    # The growth tells the number of newlines; counting them takes a tenth of the time of a flood.
    if len(framed) - len(template) != count * (len(_BETWEEN) - len(b"\n")):
        return None
    framed %= tuple(range(first + 1, first + count + 1))
    surplus = len(_HEAD % (first + count))
    return b"".join((_HEAD % first, memoryview(framed)[:-surplus]))


def joined(blocks: list[Block]) -> list[Block]:
    """The same events in fewer blocks, if the blocks are short."""
    together = _JOINED_BYTES // max(map(len, blocks))
    if together < 2:
        return blocks
    try:
        starts = range(0, len(blocks), together)
        return [b"".join(blocks[start : start + together]) for start in starts]  # type: ignore[arg-type]
    except TypeError:
        return blocks  # A long event is among them, which stays in pieces.


def pieces_of(blocks: Sequence[Block]) -> list[bytes]:
    pieces: list[bytes] = []
    for block in blocks:
        if isinstance(block, bytes):
            pieces.append(block)
        else:
            pieces += block
    return pieces


def lines_of(pieces: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The events of whole frames, as numbers and lines."""
    remaining = iter(pieces)
    for piece in remaining:
        if not piece.endswith(_END):  # The head of a long event; its line and its end follow.
            yield int(piece[_BEFORE_NUMBER : -len(_BEFORE_DATA)]), next(remaining)
            next(remaining)
            continue
        for frame in piece[_BEFORE_NUMBER : -len(_END)].split(_BETWEEN_NUMBERS):
            number, _, line = frame.partition(_BEFORE_DATA)
            yield int(number), line


def is_long(block: Block) -> bool:
    """Whether the block is one long event."""
    return not isinstance(block, bytes)


def size_of(block: Block) -> int:
    return len(block) if isinstance(block, bytes) else sum(map(len, block))


def first_number(block: Block) -> int:
    data = block if isinstance(block, bytes) else block[0]
    return int(data[_BEFORE_NUMBER : data.index(b"\n", _BEFORE_NUMBER)])


def last_number(data: bytes) -> int:
    """The number of the last frame of data that ends with a whole frame."""
    before_last = data.rfind(_END, 0, len(data) - len(_END))
    start = 0 if before_last < 0 else before_last + len(_END)
    return first_number(data[start : start + 64])


def from_number(block: Block, number: int) -> Block:
    """The block without the events before `number`, which is in the block."""
    if isinstance(block, bytes) and first_number(block) != number:
        return block[offset_of(block, number) :]
    return block


def offset_of(data: bytes, number: int) -> int:
    """The offset of the event. Raises ValueError if it is not in the data."""
    return data.index(_HEAD % number)


def from_byte(block: Block, position: int) -> Block:
    """The block from the first frame that begins at `position` or later; empty if there is none."""
    if position <= 0:
        return block
    if not isinstance(block, bytes):
        return b""
    end = block.find(_END, max(0, position - len(_END)))
    return b"" if end < 0 else block[end + len(_END) :]


def in_parts(blocks: Sequence[Block], max_bytes: int) -> Iterator[list[Block]]:
    """The events in lists of `max_bytes` and at most one event more; blocks of several events are cut."""
    part: list[Block] = []
    left = max_bytes
    for whole in blocks:
        block = whole
        while block:
            rest = from_byte(block, left) if size_of(block) > left else b""
            cut = before(block, rest) if rest else block
            part.append(cut)
            left -= size_of(cut)
            if left <= 0:
                yield part
                part, left = [], max_bytes
            block = rest
    if part:
        yield part


def before(block: Block, kept: Block) -> Block:
    """The part of the block before its kept end."""
    return block[: len(block) - len(kept)]


def newest(block: Block) -> Block:
    """The last event of the block."""
    return from_number(block, last_number(block)) if isinstance(block, bytes) else block


def take(blocks: Sequence[Block], start: int, last: int, number: int, max_bytes: int) -> Frames:
    """The events from `number` on, about `max_bytes`, of ordered blocks that end with event `last`."""
    newest_first = first_number(blocks[-1])
    if number == newest_first:  # A reader that has waited for the block.
        return Frames(number, last, pieces_of(blocks[-1:]))
    if number > newest_first:
        at = len(blocks) - 1
    else:
        at = bisect_right(blocks, number, start, key=first_number) - 1
    chosen = [from_number(blocks[at], number)]
    size = size_of(chosen[0])
    end = at + 1
    while end < len(blocks) and len(chosen) < _PIECES:
        size += size_of(blocks[end])
        if size > max_bytes:
            break
        chosen.append(blocks[end])
        end += 1
    return Frames(number, last if end == len(blocks) else first_number(blocks[end]) - 1, pieces_of(chosen))
