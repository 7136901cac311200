"""Atomic writes: all or nothing, modes and links kept, nothing left behind."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from sandbox_agent.errors import InvalidRequest, NotFound, PermissionDenied, PreconditionFailed, StreamError
from sandbox_agent.workspace.executor.progress_token import OperationCancelled, ProgressToken
from sandbox_agent.workspace.files import temporary_file
from sandbox_agent.workspace.files.atomic_write import AtomicWrite, Condition
from sandbox_agent.workspace.files.open_file import OpenFile
from sandbox_agent.workspace.files.workspace import Workspace


def write(
    workspace: Workspace,
    path: str,
    data: bytes,
    condition: Condition | None = None,
    must_not_exist: bool = False,
) -> AtomicWrite:
    file = AtomicWrite(workspace, path, condition=condition, must_not_exist=must_not_exist)
    try:
        file.begin()
        file.write(data)
        file.commit(ProgressToken())
        return file
    finally:
        file.abort()


def test_parents_are_made(workspace: Workspace, home: Path) -> None:
    assert write(workspace, "a/b/c.txt", b"hello").bytes_written == 5
    assert (home / "a/b/c.txt").read_bytes() == b"hello"
    assert os.listdir(home / "a/b") == ["c.txt"]


def test_the_mode_of_an_existing_file_is_kept(workspace: Workspace, home: Path) -> None:
    (home / "run.sh").write_bytes(b"old")
    os.chmod(home / "run.sh", 0o741)
    write(workspace, "run.sh", b"new")
    assert (home / "run.sh").stat().st_mode & 0o7777 == 0o741


def test_a_new_file_has_the_mode_of_the_umask(workspace: Workspace, home: Path) -> None:
    old = os.umask(0o027)
    try:
        write(workspace, "new", b"")
    finally:
        os.umask(old)
    assert (home / "new").stat().st_mode & 0o777 == 0o640


def test_links_are_followed_dangling_ones_too(workspace: Workspace, home: Path) -> None:
    (home / "d").mkdir()
    (home / "link").symlink_to("d/target")
    write(workspace, "link", b"one")
    assert (home / "link").is_symlink()
    assert (home / "d/target").read_bytes() == b"one"
    write(workspace, "link", b"two")
    assert (home / "d/target").read_bytes() == b"two"


def test_a_link_out_of_the_root_is_not_written_through(
    bounded: Workspace, home: Path, tmp_path: Path
) -> None:
    (tmp_path / "f").write_bytes(b"safe")
    (home / "link").symlink_to("../f")
    (home / "dangling").symlink_to(tmp_path / "new")
    (home / "directory").symlink_to(tmp_path)
    for path in ("link", "dangling", "directory/f", "directory/x/y"):
        with pytest.raises(PermissionDenied):
            write(bounded, path, b"escaped")
    assert sorted(os.listdir(tmp_path)) == ["f", "home"]
    assert (tmp_path / "f").read_bytes() == b"safe"


def test_what_cannot_be_written_is_refused_before_anything_happens(workspace: Workspace, home: Path) -> None:
    (home / "d").mkdir()
    (home / "f").touch()
    os.mkfifo(home / "fifo")
    for path in ("d", "fifo", "f/below", "", "/dev/null"):
        with pytest.raises(InvalidRequest):
            write(workspace, path, b"x")
    assert sorted(os.listdir(home)) == ["d", "f", "fifo"]


@pytest.mark.clause("files-writing")
def test_an_aborted_write_leaves_no_trace(workspace: Workspace, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    for path in ("f", "new/deep/f"):
        file = AtomicWrite(workspace, path)
        file.begin()
        file.write(b"half")
        file.abort()
    assert os.listdir(home) == ["f"]
    assert (home / "f").read_bytes() == b"old"


def test_a_write_whose_client_has_left_does_not_replace_anything(workspace: Workspace, home: Path) -> None:
    (home / "f").write_bytes(b"old")
    file = AtomicWrite(workspace, "f")
    progress = ProgressToken()
    file.begin()
    file.write(b"late")
    progress.cancel()
    with pytest.raises(OperationCancelled):
        file.commit(progress)
    file.abort()
    assert (home / "f").read_bytes() == b"old"
    assert os.listdir(home) == ["f"]


@pytest.mark.clause("files-writing")
def test_two_writers_never_mix(workspace: Workspace, home: Path) -> None:
    contents = [bytes([65 + number]) * 300_000 for number in range(4)]
    threads = [threading.Thread(target=write, args=(workspace, "f", data)) for data in contents * 3]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (home / "f").read_bytes() in contents
    assert os.listdir(home) == ["f"]


def test_if_none_match_star_lets_one_of_many_win(workspace: Workspace, home: Path) -> None:
    won: list[int] = []
    lost: list[int] = []

    def attempt(number: int) -> None:
        try:
            write(workspace, "once", b"%d" % number, must_not_exist=True)
            won.append(number)
        except PreconditionFailed:
            lost.append(number)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert len(won) == 1
    assert len(lost) == 11
    assert (home / "once").read_bytes() == b"%d" % won[0]


@pytest.mark.clause("files-writing")
def test_if_match_loses_no_update(workspace: Workspace, home: Path) -> None:
    """Every writer reads, adds one and writes conditionally until it wins."""
    write(workspace, "count", b"0")

    def add_one() -> None:
        while True:
            file = OpenFile(workspace, "count")
            value = int(file.open_and_read(100))
            file.close()
            try:
                write(workspace, "count", b"%d" % (value + 1), file.etag.__eq__)
                return
            except PreconditionFailed:
                continue

    threads = [threading.Thread(target=add_one) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (home / "count").read_bytes() == b"8"


@pytest.mark.clause("promise-L", "files-writing")
def test_a_full_disk_leaves_the_old_content(tmp_path: Path, workspace: Workspace) -> None:
    """/dev/full cannot be the target, so the limit on file size plays the full disk."""
    import resource
    import signal

    (tmp_path / "f").write_bytes(b"old")
    old_handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    old_limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, old_limit[1]))
        with pytest.raises(StreamError, match="File too large"):
            write(workspace, f"{tmp_path}/f", bytes(200_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old_limit)
        signal.signal(signal.SIGXFSZ, old_handler)
    assert (tmp_path / "f").read_bytes() == b"old"
    assert sorted(os.listdir(tmp_path)) == ["f", "home"]


def test_the_answer_names_the_etag_of_the_new_content(workspace: Workspace) -> None:
    written = write(workspace, "f", b"x")
    file = OpenFile(workspace, "f")
    file.open()
    file.close()
    assert written.etag == file.etag


def test_missing_is_reported_for_reading_only(workspace: Workspace) -> None:
    with pytest.raises(NotFound):
        OpenFile(workspace, "no/such/file").open()


def test_a_file_that_is_a_mount_point_is_written_in_place(workspace: Workspace, home: Path) -> None:
    """As /etc/hosts in most containers."""
    import ctypes

    (home / "real").write_bytes(b"a longer old content")
    (home / "mounted").touch()
    libc = ctypes.CDLL(None, use_errno=True)
    bind = 4096
    assert libc.mount(os.fsencode(home / "real"), os.fsencode(home / "mounted"), None, bind, None) == 0
    try:
        written = write(workspace, "mounted", b"new")
        assert (written.bytes_written, written.etag != "") == (3, True)
        assert (home / "real").read_bytes() == b"new"
        assert sorted(os.listdir(home)) == ["mounted", "real"]
    finally:
        libc.umount2(os.fsencode(home / "mounted"), 2)


@pytest.mark.parametrize("can_be_unnamed", [True, False])
def test_a_temporary_file_leaves_nothing(
    workspace: Workspace, home: Path, can_be_unnamed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With and without a file system that knows files without a name."""
    if not can_be_unnamed:
        monkeypatch.setattr(temporary_file, "_OWN_DESCRIPTORS", "/nowhere")
    file = AtomicWrite(workspace, "f")
    file.begin()
    assert len(os.listdir(home)) == (0 if can_be_unnamed else 1)
    file.write(b"half")
    file.abort()
    assert os.listdir(home) == []
    write(workspace, "f", b"whole")
    assert os.listdir(home) == ["f"]
    assert (home / "f").read_bytes() == b"whole"
