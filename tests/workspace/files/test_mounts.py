"""Finding the file system of a path from the list of mounts alone."""

from __future__ import annotations

from pathlib import Path

from sandbox_agent.workspace.files.mounts import area_of

LINES = """\
22 1 254:0 / / rw - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:40 / /mnt/net\\040work rw - nfs server:/x rw
41 40 0:41 / /mnt/net\\040work/inner rw - nfs server:/y rw
"""


def test_the_longest_mount_point_wins(tmp_path: Path) -> None:
    info = tmp_path / "mountinfo"
    info.write_text(LINES)
    assert area_of("/mnt/net work/a/b", str(info)) == "/mnt/net work"
    assert area_of("/mnt/net work/inner/b", str(info)) == "/mnt/net work/inner"
    assert area_of("/mnt/net works", str(info)) == "/mnt/net works"
    assert area_of("/home/a/../b", str(info)) == "/home/b"
    assert area_of("/proc", str(info)) == "/proc"


def test_without_a_list_every_path_is_its_own_area(tmp_path: Path) -> None:
    assert area_of("/mnt/x", str(tmp_path / "missing")) == "/mnt/x"
