"""Unpacking tar archives: one archive per trick, and nothing is ever written outside the destination."""

from __future__ import annotations

import gzip
import os
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from sandbox_agent.errors import InvalidRequest, PayloadTooLarge, PermissionDenied
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.tar.extraction import ArchiveLimits

from .tars import directory, file, hard_link, is_inside, link, outside, tar, unpack


@pytest.mark.clause("files-archives")
@pytest.mark.parametrize("piece", [1, 100, 512, 1 << 20])
def test_files_directories_and_links_arrive(workspace: Workspace, home: Path, piece: int) -> None:
    data = tar(
        directory("d/"),
        file("d/run", b"#!", 0o755),
        file("e/f/made-parents", b"x" * 1500),
        link("to-d", "d"),
        link("d/up", "../e/f"),
        hard_link("same", "d/run"),
        file("empty", b""),
    )
    done = unpack(workspace, data, piece=piece)
    to = home / "to"
    names = ["d", "d/run", "e/f/made-parents", "to-d", "d/up", "same", "empty"]
    assert done.paths == [f"{to}/{name}" for name in names]
    assert not done.truncated
    assert (to / "d/run").read_bytes() == b"#!"
    assert (to / "d/run").stat().st_mode & 0o7777 == 0o755
    assert (to / "d/run").stat().st_mtime == 1_700_000_000
    assert (to / "e/f/made-parents").read_bytes() == b"x" * 1500
    assert os.readlink(to / "to-d") == "d"
    assert (to / "d/up/made-parents").exists()
    assert (to / "same").samefile(to / "d/run")


@pytest.mark.parametrize("format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_of_every_dialect(workspace: Workspace, home: Path, format: int) -> None:
    long = "/".join(["directory" * 8] * (2 if format == tarfile.USTAR_FORMAT else 6)) + "/é"
    unpack(workspace, tar(file(long), link("link", long[:90]), format=format))
    assert (home / "to" / long).read_bytes() == b"data"
    if format != tarfile.USTAR_FORMAT:
        unpack(workspace, tar(directory("x"), link("x/link", long), format=format))
        assert os.readlink(home / "to/x/link") == long


@pytest.mark.clause("files-archives")
def test_compression_is_detected_by_the_first_bytes(workspace: Workspace, home: Path) -> None:
    data = tar(file("f", os.urandom(100_000)), file("zeros", bytes(3_000_000)))
    frames = zstandard.ZstdCompressor()
    for packed in (
        gzip.compress(data),
        gzip.compress(data[:5000]) + gzip.compress(data[5000:]),
        frames.compress(data),
        frames.compress(data[:5000]) + frames.compress(data[5000:]),
    ):
        for piece in (1000, 1 << 20):
            unpack(workspace, packed, piece=piece)
            assert (home / "to/zeros").stat().st_size == 3_000_000
            (home / "to/zeros").unlink()


def test_without_the_extra_zstd_is_refused_with_advice(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(InvalidRequest, match="'zstd' extra"):
        unpack(workspace, zstandard.ZstdCompressor().compress(tar(file("f"))))


def test_an_empty_body_is_an_empty_archive(workspace: Workspace, home: Path) -> None:
    assert unpack(workspace, b"").paths == []
    assert unpack(workspace, tar()).paths == []
    assert (home / "to").is_dir()


def test_the_destination_must_be_a_directory(workspace: Workspace, home: Path) -> None:
    (home / "to").touch()
    with pytest.raises(InvalidRequest, match="path is not a directory"):
        unpack(workspace, tar(file("f")))


@pytest.mark.parametrize("damage", ["cut", "header", "text", "short", "gzip cut", "gzip", "zstd", "zstd cut"])
def test_a_damaged_archive_is_refused(workspace: Workspace, home: Path, damage: str) -> None:
    data = tar(file("first"), file("second", b"y" * 5000))
    packed = {
        "cut": data[:3000],
        "header": data[:1024] + b"\1" * 512 + data[1536:],
        "text": b"this is not a tar archive" * 100,
        "short": b"x",
        "gzip cut": gzip.compress(data)[:-30],
        "gzip": gzip.compress(data)[:40] + b"\0" * 100,
        "zstd": zstandard.ZstdCompressor().compress(data)[:20] + b"\xff" * 100,
        "zstd cut": zstandard.ZstdCompressor().compress(data)[:60],
    }[damage]
    with pytest.raises(InvalidRequest):
        unpack(workspace, packed)
    left = os.listdir(home / "to")
    assert set(left) <= {"first"}, "no half entry, no temporary file"


ESCAPES: dict[str, list[dict[str, object]]] = {
    "absolute name": [file("/tmp/evil")],  # noqa: S108 - the point of the test
    "dots": [file("../evil")],
    "dots inside": [file("a/../../evil")],
    "dots that come back": [file("a/../b")],
    "absolute link": [link("l", "/etc/passwd")],
    "absolute link, then through it": [link("l", "/tmp"), file("l/evil")],  # noqa: S108 - as above
    "relative link": [link("l", "../evil")],
    "relative link, then through it": [link("l", ".."), file("l/evil")],
    "link from below": [directory("a"), link("a/l", "../../evil")],
    "link by a link": [directory("a"), link("a/up", ".."), link("out", "a/up/..")],
    "link by a later link": [link("out", "b/.."), link("b", ".")],
    "link by a missing directory": [link("out", "missing/../..")],
    "link to a link that leads up": [directory("d"), link("d/x", ".."), link("y", "d/x/../evil")],
    "empty link": [link("l", "")],
    "hard link, absolute": [hard_link("h", "/etc/passwd")],
    "hard link, dots": [hard_link("h", "../secret")],
    "hard link through a link on disk": [hard_link("h", "planted/secret")],
    "hard link to a link": [file("f"), link("l", "f"), hard_link("h", "l")],
    "hard link to nothing": [hard_link("h", "missing")],
    "hard link to a directory": [directory("d"), hard_link("h", "d")],
    "through a link on disk": [file("planted/evil")],
    "directory through a link on disk": [directory("planted/evil")],
    "link into a link on disk": [link("l", "planted/secret")],
    "FIFO": [{"name": "p", "kind": tarfile.FIFOTYPE}],
    "character device": [{"name": "c", "kind": tarfile.CHRTYPE}],
    "block device": [{"name": "b", "kind": tarfile.BLKTYPE}],
    "unknown kind": [{"name": "z", "kind": b"Z"}],
    "sparse": [{"name": "s", "kind": tarfile.GNUTYPE_SPARSE}],
    "NUL by pax": [file("x" * 200 + "/../../evil")],
    # the published tricks against tarfile's own filter
    "CVE-2025-4517": [
        directory("d" * 200),
        link("a", "d" * 200),
        link("d" * 200 + "/b", ".."),
        link("e", "a/b/../.."),
        file("e/evil"),
    ],
    "CVE-2025-4330": [directory("d"), link("d/l", "../d/../.."), file("d/l/evil")],
    "CVE-2025-4138": [link("l", "./.././evil"), file("l")],
    "CVE-2024-12718": [link("l", ".."), directory("l/", 0o777)],
}


@pytest.mark.clause("promise-M", "files-archives", "security-paths-and-archives")
@pytest.mark.parametrize("trick", ESCAPES)
@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_entries_that_lead_out_are_refused_by_name(
    workspace: Workspace, home: Path, tmp_path: Path, trick: str, format: int
) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    (home / "secret").write_bytes(b"secret")
    to = home / "to"
    to.mkdir()
    (to / "planted").symlink_to(tmp_path)
    before = outside(tmp_path, to)
    with pytest.raises(InvalidRequest) as refused:
        unpack(workspace, tar(file("before"), *ESCAPES[trick], format=format))
    name = str(ESCAPES[trick][-1]["name"])
    assert name in refused.value.detail or any(str(e["name"]) in refused.value.detail for e in ESCAPES[trick])
    assert outside(tmp_path, to) == before
    assert (to / "before").read_bytes() == b"data", "entries before the bad one stay"
    for name in os.listdir(to):
        assert name == "planted" or is_inside(to / name, to), name


def test_a_missing_hard_link_target_is_named(workspace: Workspace) -> None:
    with pytest.raises(InvalidRequest, match="hard link leads nowhere: h -> missing"):
        unpack(workspace, tar(hard_link("h", "missing")))


def test_what_exists_is_replaced_and_links_are_not_followed(
    workspace: Workspace, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside").write_bytes(b"safe")
    to = home / "to"
    to.mkdir()
    (to / "file").write_bytes(b"old")
    os.link(to / "file", tmp_path / "same-inode")
    (to / "link").symlink_to(tmp_path / "outside")
    (to / "dir-link").symlink_to(tmp_path)
    os.mkfifo(to / "fifo")
    unpack(
        workspace,
        tar(file("file", b"new"), file("link", b"new"), directory("dir-link"), file("fifo", b"new")),
    )
    assert (tmp_path / "outside").read_bytes() == b"safe"
    assert (tmp_path / "same-inode").read_bytes() == b"old"
    assert [(to / name).read_bytes() for name in ("file", "link", "fifo")] == [b"new"] * 3
    assert (to / "dir-link").is_dir()
    assert not (to / "dir-link").is_symlink()


def test_a_file_does_not_replace_a_directory_nor_the_other_way_round(
    workspace: Workspace, home: Path
) -> None:
    (home / "to/d").mkdir(parents=True)
    (home / "to/f").touch()
    for data in (
        tar(file("d")),
        tar(directory("f")),
        tar(file("f/below")),
        tar(link("d", "f")),
        tar(file(".")),
    ):
        with pytest.raises(InvalidRequest):
            unpack(workspace, data)
    assert sorted(os.listdir(home / "to")) == ["d", "f"]


@pytest.mark.clause("promise-M")
def test_modes_are_kept_without_the_dangerous_bits(workspace: Workspace, home: Path) -> None:
    unpack(workspace, tar(file("suid", b"", 0o6755), directory("sticky", 0o1777), file("none", b"", 0)))
    modes = [(home / "to" / name).stat().st_mode & 0o7777 for name in ("suid", "sticky", "none")]
    assert modes == [0o755, 0o777, 0]


def test_a_read_only_directory_still_takes_its_entries(workspace: Workspace, home: Path) -> None:
    unpack(workspace, tar(directory("ro", 0o555), file("ro/f"), directory("ro/in", 0o500), file("ro/in/g")))
    assert (home / "to/ro").stat().st_mode & 0o777 == 0o555
    assert (home / "to/ro/in").stat().st_mode & 0o777 == 0o500
    assert (home / "to/ro/in/g").exists()


@pytest.mark.clause("files-archives")
def test_the_answer_lists_the_first_1024_and_all_are_unpacked(workspace: Workspace, home: Path) -> None:
    done = unpack(workspace, tar(*(file(f"{number}", b"") for number in range(1030))))
    assert len(done.paths) == 1024
    assert done.truncated
    assert len(os.listdir(home / "to")) == 1030


@pytest.mark.clause("promise-N-file-limits", "files-archives")
def test_limits(workspace: Workspace) -> None:
    data = tar(*(file(f"{number}", b"x" * 600) for number in range(4)))
    unpack(workspace, data, limits=ArchiveLimits(entries=4, file_bytes=600, total_bytes=len(data)))
    for limits in (
        ArchiveLimits(entries=3),
        ArchiveLimits(file_bytes=599),
        ArchiveLimits(total_bytes=3000),
    ):
        with pytest.raises(PayloadTooLarge):
            unpack(workspace, data, limits=limits)
        with pytest.raises(PayloadTooLarge):
            unpack(workspace, gzip.compress(data), limits=limits)


@pytest.mark.clause("promise-M", "security-exhaustion")
@pytest.mark.parametrize("compress", [gzip.compress, zstandard.ZstdCompressor().compress])
def test_a_bomb_costs_neither_memory_nor_disk(
    workspace: Workspace, home: Path, compress: Callable[[bytes], bytes]
) -> None:
    import tracemalloc

    bomb = compress(tar(file("bomb", bytes(64 << 20))))
    assert len(bomb) < 100_000
    tracemalloc.start()
    try:
        with pytest.raises(PayloadTooLarge):
            unpack(workspace, bomb, limits=ArchiveLimits(total_bytes=48 << 20))
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()
    assert os.listdir(home / "to") == []


@pytest.mark.clause("promise-M")
@pytest.mark.parametrize("kind", [b"L", b"K", b"x", b"g"])
def test_a_giant_extended_header_is_refused(workspace: Workspace, kind: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 1 << 33
    header = info.tobuf(format=tarfile.GNU_FORMAT)
    with pytest.raises(InvalidRequest, match="extended header"):
        unpack(workspace, header + bytes(1024))


def test_numbers_in_base_256(workspace: Workspace, home: Path) -> None:
    info = tarfile.TarInfo("old")
    info.mtime = -5
    unpack(workspace, info.tobuf(format=tarfile.GNU_FORMAT) + bytes(1024))
    assert (home / "to/old").stat().st_mtime == -5
    negative = bytearray(info.tobuf(format=tarfile.GNU_FORMAT))
    negative[124:136] = b"\xff" * 12
    negative[148:156] = b" " * 8
    negative[148:156] = b"%06o\0 " % sum(negative)
    with pytest.raises(InvalidRequest, match="size"):
        unpack(workspace, bytes(negative) + bytes(1024))


@pytest.mark.clause("files-root-under-a-race")
def test_the_destination_cannot_leave_the_root(bounded: Workspace, home: Path, tmp_path: Path) -> None:
    (home / "out").symlink_to(tmp_path)
    for path in ("/tmp/x", "out", "out/x", str(tmp_path)):  # noqa: S108 - refused, never made
        with pytest.raises(PermissionDenied):
            unpack(bounded, tar(file("evil")), path=path)
    assert sorted(os.listdir(tmp_path)) == ["home"]
