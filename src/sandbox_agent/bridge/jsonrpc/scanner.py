"""A complete RFC 8259 scanner, for texts that msgspec refuses.

Some of them are legal JSON: texts nested deeper than the interpreter's stack, and texts with lone surrogate
escapes, which `JSON.stringify` produces. The scanner keeps no values: it tells whether the text is JSON,
whether it has a top-level `method`, and its top-level `id`. It needs no recursion and one byte of memory per
open bracket, but takes 2.5 ms per MB of plain string and 0.25 to 1.4 s per MB of brackets. No step takes a
millisecond, so a thread that scans does not keep the event loop from running.
"""

from __future__ import annotations

import re
from functools import cache

# A part of a string, at most 256 KiB: the interpreter lock is held for as long as one match takes.
_STRING_PART = rb'(?:[^"\\\x00-\x1f]{1,256}+|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){0,1024}+'
_TOKEN = (
    rb"[ \t\n\r]*+(?:"
    rb'(?P<string>"' + _STRING_PART + rb'(?P<quote>"?))'
    rb"|(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)"
    rb"|(?P<punctuation>[\[\]{},:]))"
)
_BLANKS = b" \t\n\r"
_STRING, _QUOTE, _SCALAR = 1, 2, 3
_OBJECT, _ARRAY = ord("{"), ord("[")


@cache
def _token_pattern() -> re.Pattern[bytes]:
    """Compiled on first use: compiling takes 1.8 ms."""
    return re.compile(_TOKEN)


@cache
def _string_part_pattern() -> re.Pattern[bytes]:
    return re.compile(_STRING_PART)


class NotJson(ValueError):
    """The text is not JSON; the message says where it goes wrong."""


def scan(text: bytes) -> tuple[bool, bytes, bool]:
    """Whether a JSON text is an object, its last top-level `id` (empty if absent), whether it has a `method`.

    The caller has checked that the text is UTF-8; it may be a bytearray. Raises NotJson.
    """
    stack = bytearray()
    position, end = 0, len(text)
    key = b""
    value_start = 0
    raw_id, has_method = b"", False
    # The next token: a value (or the end of an array if `may_close`), or a key (or the end of an object).
    want_value, want_key, may_close = True, False, False
    match_token = _token_pattern().match
    while True:
        token = match_token(text, position)
        if token is None:
            raise NotJson(f"unexpected byte {position + 1} of {end}" if position < end else "unexpected end")
        kind = token.lastindex
        start, position = token.span(kind or 0)
        if kind == _STRING and not token[_QUOTE]:
            position = end_of_string(text, position)
        sign = 0 if kind in (_STRING, _SCALAR) else text[start]
        closed = False
        if want_key:
            if sign == 0x7D and may_close:  # }
                stack.pop()
                closed = True
            elif kind != _STRING:
                raise NotJson(f"expected a key at byte {start + 1}")
            else:
                if len(stack) == 1:
                    key = text[start:position]
                colon = match_token(text, position)
                if colon is None or colon.lastindex in (_STRING, _SCALAR) or text[colon.end() - 1] != 0x3A:
                    raise NotJson(f"expected ':' at byte {position + 1}")
                position = colon.end()
                want_key, want_value, may_close = False, True, False
                if len(stack) == 1:
                    value_start = position
                continue
        elif want_value:
            if sign in (_OBJECT, _ARRAY):
                stack.append(sign)
                want_key, may_close = sign == _OBJECT, True
                want_value = not want_key
                continue
            if sign == 0x5D and may_close and stack and stack[-1] == _ARRAY:  # ]
                stack.pop()
            elif sign:
                raise NotJson(f"expected a value at byte {start + 1}")
            closed = True
        elif sign == 0x2C:  # ,
            want_key = stack[-1] == _OBJECT
            want_value, may_close = not want_key, False
            continue
        elif (sign == 0x7D and stack[-1] == _OBJECT) or (sign == 0x5D and stack[-1] == _ARRAY):
            stack.pop()
            closed = True
        if not closed:
            raise NotJson(f"unexpected byte {start + 1} of {end}")
        want_value = want_key = may_close = False
        if len(stack) == 1 and stack[0] == _OBJECT and key:
            name = _unescaped(key)
            if name == "id":
                raw_id = bytes(text[value_start:position].strip(_BLANKS))
            elif name == "method":
                has_method = True
            key = b""
        if not stack:
            break
    if text[position:].strip(_BLANKS):
        raise NotJson(f"trailing text at byte {position + 1}")
    return text.lstrip(_BLANKS)[0] == _OBJECT, raw_id, has_method


def end_of_string(text: bytes, position: int) -> int:
    """The position after a string of which `position` is inside, not in an escape. Raises NotJson."""
    match_part = _string_part_pattern().match
    while text[position : position + 1] != b'"':
        part = match_part(text, position)
        end = part.end() if part is not None else position
        if end == position:
            raise NotJson(
                f"unexpected byte {position + 1} of {len(text)}" if position < len(text) else "unexpected end"
            )
        position = end
    return position + 1


def _unescaped(key: bytes) -> str:
    if b"\\" not in key:
        return key[1:-1].decode()
    import json  # escapes in a key are rare; loading it takes 2 ms of start-up

    name: str = json.loads(key)
    return name
