"""A push parser for tar archives with bounded memory; it does not touch the file system.

`feed` takes pieces of any size and calls the `TarSink`: `member` at each header, `data` for the content of
regular files, `member_done` after it. ustar, GNU long names and pax headers are supported, sparse files are
not. Names and links are passed on unchanged; the sink checks them.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn, Protocol

from sandbox_agent.errors import InvalidRequest

BLOCK = 512
_MAX_META = 1 << 20  # a long name or pax header beyond this is an attack on memory, not a name
_ZEROS = bytes(BLOCK)

REGULAR, HARD_LINK, SYMLINK, CHARACTER, BLOCK_DEVICE, DIRECTORY, FIFO = (b"%d" % n for n in range(7))
_AS_REGULAR = (REGULAR, b"\0", b"7")
_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL = b"L", b"K", b"x", b"g"
_SPARSE = b"S"


class Member(NamedTuple):
    """One header, long names and pax records applied."""

    name: str
    kind: bytes
    size: int
    mode: int
    modified: float
    link: str


class TarSink(Protocol):
    """Receives the members."""

    def member(self, member: Member) -> None: ...

    def data(self, piece: memoryview) -> None: ...

    def member_done(self) -> None: ...


class TarReader:
    """Push parser of one archive.

    Raises:
        InvalidRequest: from `feed` and `finish`, when the archive is damaged or cut off.
    """

    def __init__(self, sink: TarSink) -> None:
        self._sink = sink
        self._header = bytearray()
        self._meta: bytearray | None = None
        self._meta_kind = b""
        self._remaining = 0  # bytes of the content that are still missing
        self._padding = 0  # bytes after it, up to the next block
        self._long: dict[str, str] = {}
        self.ended = False

    def feed(self, data: bytes | memoryview) -> None:
        view = memoryview(data)
        while view and not self.ended:
            if self._remaining:
                view = self._take_content(view)
            elif self._padding:
                skipped = min(self._padding, len(view))
                self._padding -= skipped
                view = view[skipped:]
            else:
                view = self._take_header(view)

    def finish(self) -> None:
        """End the input."""
        if not self.ended:
            raise InvalidRequest("the archive is cut off: its end is missing")

    def _take_content(self, view: memoryview) -> memoryview:
        piece = view[: self._remaining]
        self._remaining -= len(piece)
        if self._meta is not None:
            self._meta += piece
        else:
            self._sink.data(piece)
        if not self._remaining:
            self._content_done()
        return view[len(piece) :]

    def _content_done(self) -> None:
        if self._meta is None:
            self._sink.member_done()
            return
        meta, self._meta = bytes(self._meta), None
        if self._meta_kind == _LONG_NAME:
            self._long["path"] = _text(meta.rstrip(b"\0"))
        elif self._meta_kind == _LONG_LINK:
            self._long["linkpath"] = _text(meta.rstrip(b"\0"))
        elif self._meta_kind == _PAX:
            self._long.update(_pax_records(meta))

    def _take_header(self, view: memoryview) -> memoryview:
        wanted = BLOCK - len(self._header)
        self._header += view[:wanted]
        if len(self._header) == BLOCK:
            header = bytes(self._header)
            self._header.clear()
            if header == _ZEROS:
                self.ended = True
            else:
                self._read_header(header)
        return view[wanted:]

    def _read_header(self, header: bytes) -> None:
        _check_sum(header)
        kind = header[156:157]
        size = _number(header[124:136], "size")
        if kind in (_LONG_NAME, _LONG_LINK, _PAX, _PAX_GLOBAL):
            self._begin_meta(kind, size)
            return
        member = self._member(header, kind, size)
        self._long = {}
        self._remaining = member.size if member.kind == REGULAR else 0
        # Links and directories have no content, whatever their size field says; other kinds are refused.
        self._padding = -self._remaining % BLOCK
        self._sink.member(member)
        if not self._remaining:
            self._sink.member_done()

    def _begin_meta(self, kind: bytes, size: int) -> None:
        if size > _MAX_META:
            raise InvalidRequest(f"the archive has a name or extended header of {size} bytes")
        self._meta, self._meta_kind = bytearray(), kind
        self._remaining, self._padding = size, -size % BLOCK
        if not size:
            self._content_done()

    def _member(self, header: bytes, kind: bytes, size: int) -> Member:
        name = _field(header[0:100])
        if header[257:263] == b"ustar\0" and header[345] != 0:
            name = f"{_field(header[345:500])}/{name}"
        link = _field(header[157:257])
        modified: float = _number(header[136:148], "mtime")
        for keyword, value in self._long.items():
            if keyword == "path":
                name = value
            elif keyword == "linkpath":
                link = value
            elif keyword == "size":
                size = int(value) if value.isdigit() else _damaged("size")
            elif keyword == "mtime":
                modified = _seconds(value)
            elif keyword.startswith("GNU.sparse."):
                kind = _SPARSE
        if kind in _AS_REGULAR:
            kind = DIRECTORY if name.endswith("/") else REGULAR
        if size < 0:
            _damaged("size")
        return Member(name, kind, size, _number(header[100:108], "mode") & 0o777, modified, link)


def _check_sum(header: bytes) -> None:
    stored = _number(header[148:156], "checksum")
    blank = header[:148] + b" " * 8 + header[156:]
    signed = sum(byte - 256 if byte > 127 else byte for byte in blank)  # some old programs sum signed bytes
    if stored not in (sum(blank), signed):
        raise InvalidRequest(
            "the archive is damaged: a header has a wrong checksum (or this is not a tar file)"
        )


def _number(field: bytes, name: str) -> int:
    """Octal text, or base 256 when the first bit is set."""
    if field[0] & 0x80:
        return int.from_bytes(bytes([field[0] & 0x7F]) + field[1:], "big") - (
            1 << (8 * len(field) - 1) if field[0] & 0x40 else 0
        )
    digits = field.split(b"\0", 1)[0].strip()
    try:
        return int(digits, 8) if digits else 0
    except ValueError:
        _damaged(name)


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        _damaged("mtime")


def _damaged(field: str) -> NoReturn:
    raise InvalidRequest(f"the archive is damaged: a header has no valid {field}")


def _field(raw: bytes) -> str:
    return _text(raw.split(b"\0", 1)[0])


def _text(raw: bytes) -> str:
    """Names on disk are bytes; those that are not UTF-8 are kept unchanged."""
    return raw.decode("utf-8", "surrogateescape")


def _pax_records(meta: bytes) -> dict[str, str]:
    """`<length> <keyword>=<value>\\n`, the length counting the whole record."""
    records: dict[str, str] = {}
    while meta:
        length, blank, _ = meta.partition(b" ")
        if not blank or not length.isdigit() or len(length) > 7:
            _damaged("extended record")
        end = int(length)
        record = meta[len(length) + 1 : end]
        keyword, equals, value = record.partition(b"=")
        if not equals or end > len(meta) or not value.endswith(b"\n"):
            _damaged("extended record")
        records[_text(keyword)] = _text(value[:-1])
        meta = meta[end:]
    return records
