"""Whatever an archive holds, nothing outside the destination changes; what goes out comes back the same."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.workspace.executor.progress_token import ProgressToken
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.tar.writer import archive as archive_pieces

from .tars import is_inside, outside, unpack

parts = st.sampled_from(["a", "b", "c", "..", ".", "", "planted", "link"])
names = st.lists(parts, min_size=1, max_size=5).map("/".join)
kinds = st.sampled_from(
    [tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE]
)
members = st.lists(st.tuples(names, kinds, names | names.map(lambda name: "/" + name)), max_size=8)


@pytest.mark.clause("files-archives", "fuzz-files")
@settings(max_examples=200, deadline=None)
@given(members=members, format=st.sampled_from([tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]))
def test_no_archive_reaches_beyond_its_destination(
    tmp_path_factory: pytest.TempPathFactory, members: list[tuple[str, bytes, str]], format: int
) -> None:
    top = tmp_path_factory.mktemp("top")
    to = top / "home/to"
    to.mkdir(parents=True)
    (top / "a").write_bytes(b"safe")
    (top / "home/b").write_bytes(b"safe")
    (to / "planted").symlink_to("../..")
    before = outside(top, to)
    workspace = Workspace(home=str(top / "home"))
    try:
        # One archive per member: a refused one does not keep the next from trying.
        for name, kind, target in members:
            buffer = io.BytesIO()
            with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
                info = tarfile.TarInfo(name)
                info.type, info.linkname = kind, target
                archive.addfile(info)
            with contextlib.suppress(SandboxAgentError):
                unpack(workspace, buffer.getvalue(), path=str(to))
    finally:
        workspace.close()
    assert outside(top, to) == before
    for directory, directories, files in os.walk(to):
        for name in (*directories, *files):
            assert name == "planted" or is_inside(Path(directory, name), to), os.readlink(
                Path(directory, name)
            )
            assert not name.startswith(".sandbox-agent-")


@pytest.mark.clause("fuzz-files")
@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=3000), at=st.integers(0, 2047), piece=st.integers(1, 700))
def test_noise_is_refused_and_never_crashes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, at: int, piece: int
) -> None:
    top = tmp_path_factory.mktemp("noise")
    workspace = Workspace(home=str(top))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        info = tarfile.TarInfo("d/" * 60 + "f")
        archive.addfile(info)
    noisy = bytearray(buffer.getvalue())
    noisy[at : at + len(data)] = data
    try:
        with contextlib.suppress(SandboxAgentError):
            unpack(workspace, bytes(noisy), piece=piece)
    finally:
        workspace.close()


tree_names = st.text(
    st.characters(blacklist_characters="/\0", codec="utf-8"), min_size=1, max_size=40
).filter(lambda name: name not in (".", "..") and len(name.encode()) < 200)
trees = st.dictionaries(
    st.lists(tree_names, min_size=1, max_size=4).map("/".join), st.binary(max_size=2000), max_size=8
)


@pytest.mark.clause("files-download")
@settings(max_examples=60, deadline=None)
@given(files=trees)
def test_a_downloaded_directory_unpacks_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    top = tmp_path_factory.mktemp("round")
    source = top / "source"
    source.mkdir()
    for name, content in files.items():
        with contextlib.suppress(OSError):  # a name may be a file here and a directory there
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes(content)
    (source / "self").symlink_to(".")
    workspace = Workspace(home=str(top))
    try:
        packed = b"".join(archive_pieces(workspace, "source", ProgressToken()))
        unpack(workspace, packed, path="copy")
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            assert len(archive.getnames()) == sum(len(d) + len(f) for _, d, f in os.walk(source))
    finally:
        workspace.close()
    assert outside(source, top / "none") == {
        path.replace(str(top / "copy"), str(source)): found
        for path, found in outside(top / "copy", top / "none").items()
    }
