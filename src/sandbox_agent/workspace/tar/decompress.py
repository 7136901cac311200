"""Decompression in pieces, so that a small body cannot take much memory.

The first bytes tell the format: gzip, zstd (needs the `zstd` extra) or plain. Output is passed on in pieces
of bounded size while the input is being read; nothing is kept.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any, Protocol

from sandbox_agent.errors import InvalidRequest

GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 18
_ZSTD_MAX_WINDOW = 1 << 27  # as `zstd -d` without --long

Output = Callable[[bytes], None]


class Decompressor(Protocol):
    def feed(self, data: bytes) -> None: ...

    def finish(self) -> None: ...


class Plain:
    """No compression."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def feed(self, data: bytes) -> None:
        self._output(data)

    def finish(self) -> None:
        pass


class Gzip:
    """gzip, also several members in sequence."""

    def __init__(self, output: Output) -> None:
        self._output = output
        self._member: Any = zlib.decompressobj(31)

    def feed(self, data: bytes) -> None:
        try:
            while data:
                if self._member.eof:
                    if not data.strip(b"\0"):
                        return  # padding after the last member
                    self._member = zlib.decompressobj(31)
                piece = self._member.decompress(data, _PIECE)
                if piece:
                    self._output(piece)
                data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
        except zlib.error as exc:
            raise InvalidRequest(f"the gzip data is damaged: {exc}") from None

    def finish(self) -> None:
        if not self._member.eof:
            raise InvalidRequest("the gzip data is cut off")


class Zstd:
    """zstd, also several frames in sequence."""

    def __init__(self, output: Output) -> None:
        try:
            import zstandard  # an extra: most installations never need it
        except ImportError:
            raise InvalidRequest(
                "zstd archives need the 'zstd' extra of sandbox-agent on the server"
            ) from None
        self._error = zstandard.ZstdError
        self._context = zstandard.ZstdDecompressor(max_window_size=_ZSTD_MAX_WINDOW)
        self._target = _WriteTo(output)
        self._frame = self._context.stream_writer(
            self._target,  # type: ignore[arg-type]  # only its `write` is used
            write_size=_PIECE,
        )

    def feed(self, data: bytes) -> None:
        try:
            self._frame.write(data)
        except self._error as exc:
            raise InvalidRequest(f"the zstd data is damaged: {exc}") from None

    def finish(self) -> None:
        pass  # a truncated frame leaves the archive without its end, which the tar reader reports


class _WriteTo:
    def __init__(self, output: Output) -> None:
        self._output = output

    def write(self, data: bytes) -> int:
        self._output(bytes(data))
        return len(data)


def for_first_bytes(first: bytes, output: Output) -> Decompressor:
    """The decompressor for a body that begins with `first` (four bytes are enough)."""
    if first.startswith(GZIP_MAGIC):
        return Gzip(output)
    if first.startswith(ZSTD_MAGIC):
        return Zstd(output)
    return Plain(output)
