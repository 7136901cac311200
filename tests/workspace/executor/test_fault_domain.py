"""Finding the file system of a path from the list of mounts alone."""

from __future__ import annotations

from pathlib import Path

from sandbox_agent.workspace.executor.fault_domain import fault_domain

LINES = """\
22 1 254:0 / / rw - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
40 22 0:40 / /mnt/net\\040work rw - nfs server:/x rw
41 40 0:41 / /mnt/net\\040work/inner rw - nfs server:/y rw
"""


def test_the_longest_mount_point_wins(tmp_path: Path) -> None:
    info = tmp_path / "mountinfo"
    info.write_text(LINES)
    assert fault_domain("/mnt/net work/a/b", str(info)) == "/mnt/net work"
    assert fault_domain("/mnt/net work/inner/b", str(info)) == "/mnt/net work/inner"
    assert fault_domain("/mnt/net works", str(info)) == "/mnt/net works"
    assert fault_domain("/home/a/../b", str(info)) == "/home/b"
    assert fault_domain("/proc", str(info)) == "/proc"


def test_without_a_list_every_path_is_its_own_area(tmp_path: Path) -> None:
    assert fault_domain("/mnt/x", str(tmp_path / "missing")) == "/mnt/x"
