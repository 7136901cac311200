"""A complete RFC 8259 scanner for the texts that the fast decoder refuses although they are legal.

Those are texts nested deeper than the interpreter's stack and texts with lone surrogate escapes (which
`JSON.stringify` produces). It keeps no values: it says whether the text is JSON and where the top-level
`id` stands. It needs no recursion and no memory beyond a byte per open bracket, but it is slow; callers
run it in a thread when the text is long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

_TOKEN = (
    rb"[ \t\n\r]*+(?:"
    rb'(?P<string>"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+")'
    rb"|(?P<scalar>-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+|true|false|null)"
    rb"|(?P<mark>[\[\]{},:]))"
)
_BLANKS = b" \t\n\r"
_STRING, _SCALAR = 1, 2
_OBJECT, _ARRAY = ord("{"), ord("[")


_pattern: re.Pattern[bytes] | None = None


def _token_pattern() -> re.Pattern[bytes]:
    """Compiled at first use, which for most servers is never."""
    global _pattern
    if _pattern is None:
        import re

        _pattern = re.compile(_TOKEN)
    return _pattern


class NotJson(ValueError):
    """The text is not JSON; the message says where it goes wrong."""


class Scan:
    __slots__ = ("has_method", "id", "is_object")

    def __init__(self, is_object: bool, id: bytes, has_method: bool) -> None:
        self.is_object = is_object
        self.id = id
        """The last top-level `id` as written, empty when there is none."""
        self.has_method = has_method


def scan(text: bytes) -> Scan:
    """Scan one JSON text. The caller has checked that it is UTF-8."""
    stack = bytearray()
    position, end = 0, len(text)
    key = b""
    value_start = 0
    raw_id, has_method = b"", False
    # What may come next: a value, a value or the end of an array, a key, a key or the end of an object.
    want_value, want_key, may_close = True, False, False
    match_token = _token_pattern().match
    while True:
        token = match_token(text, position)
        if token is None:
            raise NotJson(f"unexpected byte {position + 1} of {end}" if position < end else "unexpected end")
        kind = token.lastindex
        start, position = token.span(kind or 0)
        mark = 0 if kind in (_STRING, _SCALAR) else text[start]
        closed = False
        if want_key:
            if mark == 0x7D and may_close:  # }
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
            if mark in (_OBJECT, _ARRAY):
                stack.append(mark)
                want_key, may_close = mark == _OBJECT, True
                want_value = not want_key
                continue
            if mark == 0x5D and may_close and stack and stack[-1] == _ARRAY:  # ]
                stack.pop()
            elif mark:
                raise NotJson(f"expected a value at byte {start + 1}")
            closed = True
        elif mark == 0x2C:  # ,
            want_key = stack[-1] == _OBJECT
            want_value, may_close = not want_key, False
            continue
        elif (mark == 0x7D and stack[-1] == _OBJECT) or (mark == 0x5D and stack[-1] == _ARRAY):
            stack.pop()
            closed = True
        if not closed:
            raise NotJson(f"unexpected byte {start + 1} of {end}")
        want_value = want_key = may_close = False
        if len(stack) == 1 and stack[0] == _OBJECT and key:
            name = _unescaped(key)
            if name == "id":
                raw_id = text[value_start:position].strip(_BLANKS)
            elif name == "method":
                has_method = True
            key = b""
        if not stack:
            break
    if text[position:].strip(_BLANKS):
        raise NotJson(f"trailing text at byte {position + 1}")
    return Scan(text.lstrip(_BLANKS)[0] == _OBJECT, raw_id, has_method)


def _unescaped(key: bytes) -> str:
    if b"\\" not in key:
        return key[1:-1].decode()
    import json  # keys with escapes are rare

    name: str = json.loads(key)
    return name
