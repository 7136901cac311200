"""Terminal modes that a program of the sandbox has switched on, and the text that switches them off.

A program that was killed, or still runs after the terminal was detached, does not switch them off itself. The
terminal would stay in the alternate screen with a hidden cursor, and mouse events would appear as input.
"""

from __future__ import annotations

import re

_SWITCH = re.compile(rb"\x1b\[\?([0-9;]+)([hl])")
_UNFINISHED = re.compile(rb"\x1b(?:\[(?:\?[0-9;]{0,40})?)?\Z")
_ON_BY_DEFAULT = frozenset((b"7", b"25"))  # lines wrap, the cursor is visible


class ScreenModes:
    def __init__(self) -> None:
        self._switched: dict[bytes, None] = {}
        self._rest = b""

    def read(self, data: bytes) -> None:
        """The program has written this."""
        data = self._rest + data
        for modes, switch in _SWITCH.findall(data):
            for mode in modes.split(b";"):
                if (switch == b"h") == (mode in _ON_BY_DEFAULT):
                    self._switched.pop(mode, None)
                else:
                    self._switched[mode] = None
        unfinished = _UNFINISHED.search(data, max(0, len(data) - 64))
        self._rest = unfinished[0] if unfinished else b""

    def undo(self) -> bytes:
        """What switches everything back."""
        switches = (
            b"\x1b[?%b%b" % (mode, b"h" if mode in _ON_BY_DEFAULT else b"l") for mode in self._switched
        )
        written = b"".join(switches)
        return written + b"\x1b[0m" if written else b""
