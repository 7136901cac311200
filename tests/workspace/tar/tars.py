"""Archives for tests, and a look at everything around their destination."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.tar.extraction import ArchiveLimits, Extraction


def member(
    archive: tarfile.TarFile,
    name: str,
    data: bytes = b"",
    kind: bytes = tarfile.REGTYPE,
    link: str = "",
    mode: int = 0o644,
) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode, info.mtime = kind, link, len(data), mode, 1_700_000_000
    archive.addfile(info, io.BytesIO(data))


def tar(*members: dict[str, object], format: int = tarfile.GNU_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for fields in members:
            member(archive, **fields)  # type: ignore[arg-type]  # test data
    return buffer.getvalue()


def file(name: str, data: bytes = b"data", mode: int = 0o644) -> dict[str, object]:
    return {"name": name, "data": data, "mode": mode}


def link(name: str, target: str) -> dict[str, object]:
    return {"name": name, "kind": tarfile.SYMTYPE, "link": target}


def hard_link(name: str, target: str) -> dict[str, object]:
    return {"name": name, "kind": tarfile.LNKTYPE, "link": target}


def directory(name: str, mode: int = 0o755) -> dict[str, object]:
    return {"name": name, "kind": tarfile.DIRTYPE, "mode": mode}


@contextlib.contextmanager
def extracting(workspace: Workspace, path: str, limits: ArchiveLimits | None = None) -> Iterator[Extraction]:
    extraction = Extraction(workspace, path, limits or ArchiveLimits(), ProgressToken())
    try:
        extraction.begin()
        yield extraction
    finally:
        extraction.close()


def unpack(
    workspace: Workspace,
    data: bytes,
    path: str = "to",
    piece: int = 1 << 16,
    limits: ArchiveLimits | None = None,
) -> Extraction:
    with extracting(workspace, path, limits) as extraction:
        for start in range(0, len(data), piece):
            extraction.feed(data[start : start + piece])
        extraction.finish()
        return extraction


def is_inside(path: Path, top: Path) -> bool:
    """Whether a path leads to something below `top`; one that runs in a circle leads nowhere at all."""
    try:
        path.stat()
    except OSError as exc:
        if exc.errno == errno.ELOOP:
            return True
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(top))


def outside(top: Path, without: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for directory_, directories, files in os.walk(top):
        if Path(directory_) == without:
            directories.clear()
            continue
        for name in (*directories, *files):
            path = Path(directory_, name)
            stat = path.lstat()
            links = 0 if path.is_dir() else stat.st_nlink
            found[str(path)] = (stat.st_mode, links, path.read_bytes() if path.is_file() else b"")
    return found
