"""Text of agents and servers for a terminal: without control characters, and no wider than there is room.

A width is a number of terminal columns: two for a wide East Asian character, none for a combining one.
"""

from __future__ import annotations

import unicodedata

# Persian and Indic scripts and emoji need them; the other format characters can reorder what is shown.
_JOINERS = "\u200c\u200d"


def printable(text: str) -> str:
    """The text on one line, with `?` for control characters: no escape sequence reaches the terminal."""
    return text if text.isprintable() else "".join(map(_printable, text))


def display_width(text: str) -> int:
    return len(text) if text.isascii() else sum(map(_columns, text))


def cut(text: str, width: int) -> str:
    """The start of a text that fits into `width` columns."""
    used = 0
    for position, char in enumerate(text):
        used += _columns(char)
        if used > width:
            return text[:position]
    return text


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken at spaces where there are any."""
    lines = []
    while (line := cut(text, width)) != text:
        # A character that is wider than the line gets a line of its own.
        line = line or text[0]
        if not text[len(line) :].startswith(" ") and " " in line.strip():
            line = line[: line.rindex(" ")]
        lines.append(line.rstrip())
        text = text[len(line) :].lstrip()
    return [*lines, text]


def _printable(char: str) -> str:
    if char.isspace():
        return " "
    return "?" if unicodedata.category(char) in ("Cc", "Cf", "Cs") and char not in _JOINERS else char


def _columns(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
