"""A long message, given to msgspec in parts: one call holds the interpreter lock until it returns.

For 16 MB of numbers or brackets a call takes 20 to 50 ms, and no other thread runs meanwhile. A message is
cut at commas between values, about every 256 KiB. The containers that are open there are closed at the end of
a part and opened again in the next, with a placeholder as their last and first element. So all parts are JSON
if and only if the message is. A string across the end of a part is checked by the scanner, and an empty
string takes its place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.jsonrpc.scanner import NotJson, end_of_string

if TYPE_CHECKING:
    from collections.abc import Iterator

# msgspec takes up to 0.8 ms for a part of this size.
PART_BYTES = 256 * 1024
# Without a comma in so much text, or with deeper nesting (msgspec has a limit), the scanner reads it all.
_MAX_PART_BYTES = 4 * PART_BYTES
_MAX_DEPTH = 200
# A key that matters is shorter, even if all of it is escaped.
_SHORT_STRING_BYTES = 64
SHORTENED = b'""'

_NOT_BRACKETS = bytes(set(range(256)) - set(b"{}[]"))
_OBJECT, _OPENING = ord("{"), b"{["


class NotInParts(ValueError):
    """The message cannot be cut into parts; it may still be JSON."""


def parts_of(message: bytes) -> Iterator[bytes]:
    """Texts that are all JSON if and only if the message is; top-level members stay top-level members.

    A container that is a member of the message may be in several parts, under the key of the member in the
    first only. Raises NotInParts.
    """
    opened, beginning = b"", b""  # the open containers before `at`, and the text that opens them
    held = b""  # text before `at` that belongs to the next part
    at, end = 0, len(message)
    while at + PART_BYTES < end:
        piece = held + message[at : at + PART_BYTES]
        comma, brackets, string = _look_at(piece)
        if comma >= 0:
            opened = _open_after(opened, brackets)
            yield beginning + piece[:comma] + _closing(opened)
            at += comma + 1 - len(held)
            beginning, held = _opening(opened), b""
            continue
        start = at + PART_BYTES
        if string >= 0:
            start = at + string - len(held)
            at = _end_of_string(message, start)
            held = piece[:string] + (message[start:at] if at - start <= _SHORT_STRING_BYTES else SHORTENED)
        else:
            at, held = start, piece
        if len(held) > _MAX_PART_BYTES:
            raise NotInParts
    yield beginning + held + message[at:]


def beginning_of(message: bytes) -> bytes:
    """The members in the first 256 KiB of a long message, as JSON if the message is. Raises NotInParts."""
    return next(parts_of(message[: PART_BYTES + 1]))


def _look_at(piece: bytes) -> tuple[int, bytes, int]:
    """In a piece that begins outside of a string: its last comma outside of strings, or -1; the brackets
    before it; and the start of the string that goes on after the piece, or -1.
    """
    # Of the same length, so that positions stay the same. After this every quote begins or ends a string.
    plain = piece.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    texts = plain.split(b'"')  # every other one is outside of strings
    start = end = len(piece)
    if len(texts) % 2 == 0:
        start = end - len(texts[-1]) - 1
    string = start if start < end else -1
    for index in range(len(texts) - 1, -1, -1):
        end -= len(texts[index])
        if index % 2 == 0 and (comma := texts[index].rfind(b",")) >= 0:
            outside = b"".join((*texts[0:index:2], texts[index][:comma]))
            return end + comma, outside.translate(None, _NOT_BRACKETS), string
        end -= 1  # the quote
    return -1, b"", string


def _open_after(opened: bytes, brackets: bytes) -> bytes:
    # Most containers are short and closed again; a replacement is faster than a step per bracket.
    for _ in range(4):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    containers = bytearray(opened)
    for bracket in brackets:
        if bracket in _OPENING:
            containers.append(bracket)
        elif containers:
            containers.pop()
    if not 0 < len(containers) <= _MAX_DEPTH:
        raise NotInParts
    return bytes(containers)


def _closing(opened: bytes) -> bytes:
    """A last element, because no comma may follow the opening bracket, and the closing brackets."""
    last = b',"":0' if opened[-1] == _OBJECT else b",0"
    return last + opened[::-1].translate(bytes.maketrans(b"{[", b"}]"))


def _opening(opened: bytes) -> bytes:
    """The opening brackets with empty keys, a first element, and its comma."""
    outer = opened[:-1].replace(b"{", b'{"":')
    return outer + (b'{"":0,' if opened[-1] == _OBJECT else b"[0,")


def _end_of_string(message: bytes, start: int) -> int:
    try:
        return end_of_string(message, start + 1)
    except NotJson:
        raise NotInParts from None
