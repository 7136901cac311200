"""Print the end of a log file and follow it, also after it was replaced."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import IO

_POLL_S = 0.2
_BLOCK = 64 * 1024


class LogFollower:
    def __init__(self, path: Path, output: IO[bytes]) -> None:
        self._path = path
        self._output = output
        self._file: IO[bytes] = path.open("rb")

    def show_last(self, lines: int) -> None:
        """Print the last lines, reading from the end of the file."""
        end = self._file.seek(0, os.SEEK_END)
        tail = b""
        while end > 0 and tail.count(b"\n") <= lines:
            size = min(_BLOCK, end)
            end -= size
            self._file.seek(end)
            tail = self._file.read(size) + tail
        self._file.seek(0, os.SEEK_END)
        self._write(b"".join(tail.splitlines(keepends=True)[-lines:] if lines else []))

    def follow(self) -> None:
        """Print added bytes until interrupted."""
        while True:
            while chunk := self._file.read(_BLOCK):
                self._write(chunk)
            self._reopen_if_replaced()
            time.sleep(_POLL_S)

    def _reopen_if_replaced(self) -> None:
        try:
            replaced = os.stat(self._path).st_ino != os.fstat(self._file.fileno()).st_ino
        except FileNotFoundError:
            return
        if replaced:
            self._file.close()
            self._file = self._path.open("rb")

    def _write(self, data: bytes) -> None:
        self._output.write(data)
        self._output.flush()
