"""Cutting a block into its lines, quickly for short lines and for long ones.

`bytes.split` looks at every byte by itself; `find` skips a long line at memory speed, at a call per line.
"""

from __future__ import annotations

# Numbers, because a number is found in bytes ten times as quickly as bytes of length one: for these Python
# first tries to make a number of them, and fails.
LF, CR = 0x0A, 0x0D
# From about this length on, a call per line is cheaper than a look at every byte.
_LONG_LINE_BYTES = 1024


def split_lines(block: bytes) -> list[bytes]:
    """The lines, without their newlines, of a block that ends with one or is a single line without it."""
    if not block:
        return []
    if not block.endswith(b"\n"):
        return [block]
    newline = block.find(b"\n")
    if newline == len(block) - 1:
        return [block[:-1]]
    if newline < _LONG_LINE_BYTES:
        lines = block.split(b"\n")
        lines.pop()
        return lines
    lines, start = [], 0
    while newline >= 0:
        lines.append(block[start:newline])
        start = newline + 1
        newline = block.find(b"\n", start)
    return lines
