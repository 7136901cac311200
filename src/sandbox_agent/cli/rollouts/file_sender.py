"""Sends a file as a response piece by piece, so that a file of any size takes the memory of one piece."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import BinaryIO

from sandbox_agent.http.http1.exchange import Exchange
from sandbox_agent.http.messages import HeaderList
from sandbox_agent.runtime.loop import Loop

_PIECE_BYTES = 256 * 1024


class FileSender:
    """Reads each piece in a thread, when the client has room for it."""

    def __init__(self, path: Path, headers: HeaderList) -> None:
        """Open the file. Raises OSError."""
        self._file: BinaryIO = path.open("rb")
        self._left = os.fstat(self._file.fileno()).st_size
        self._headers: HeaderList = [*headers, (b"content-length", b"%d" % self._left)]
        self._reading = False

    def send(self, exchange: Exchange, loop: Loop, headers: HeaderList) -> None:
        self._exchange, self._loop = exchange, loop
        if exchange.client_left:
            self._file.close()
            return
        exchange.start(200, [*self._headers, *headers])
        if exchange.head.method == "HEAD" or not self._left:
            self._file.close()
            exchange.end()
            return
        exchange.attach(self)
        self.resume()

    def resume(self) -> None:
        if not self._reading and self._exchange.can_write:
            self._reading = True
            self._loop.in_thread(partial(self._file.read, min(_PIECE_BYTES, self._left)), self._on_piece)

    def _on_piece(self, piece: bytes | None, error: BaseException | None) -> None:
        self._reading = False
        if self._exchange.client_left:
            self._file.close()
            return
        if not piece:
            self._file.close()
            self._exchange.fail(OSError(f"a kept file cannot be read: {error or 'it has become shorter'}"))
            return
        self._left -= len(piece)
        self._exchange.write(piece)
        if self._left:
            self.resume()
        else:
            self._file.close()
            self._exchange.end()

    def disconnected(self) -> None:
        if not self._reading:
            self._file.close()
