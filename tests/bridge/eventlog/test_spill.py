"""Long and short events on disk come back as they were, in order, from any number on."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.bridge.eventlog import frames
from sandbox_agent.bridge.eventlog.spill import Spill

MIB = 1024 * 1024
LIMIT = 64 * MIB


def long_line(number: int, size: int = 70_000) -> bytes:
    return b'{"n":%d,"x":"%b"}' % (number, b"%07d" % number * (size // 7))


def short_line(number: int) -> bytes:
    return b'{"n":%d}' % number


def replayed(spill: Spill, number: int, last: int, max_bytes: int = 1 << 20) -> bytes:
    """Everything from an event on, range by range, as a subscriber sees it."""
    wire, before = b"", None
    while number <= last:
        found = spill.find(number, max_bytes, before)
        assert found is not None, number
        assert found.first == number
        wire += found.read()
        number, before = found.last + 1, found
    return wire


def expected(lines: list[bytes], first: int = 1) -> bytes:
    return b"".join(b"event: message\nid: %d\ndata: %b\n\n" % item for item in enumerate(lines, first))


def test_long_and_short_events_come_back_in_order_from_any_number(tmp_path: Path) -> None:
    spill = Spill(str(tmp_path), "1", LIMIT)
    lines: list[bytes] = []
    for batch in range(12):
        first = len(lines) + 1
        count = 1 + batch % 4
        new = [(long_line if batch % 3 else short_line)(number) for number in range(first, first + count)]
        lines += new
        blocks = (
            [frames.encode_line(first + index, line) for index, line in enumerate(new)]
            if batch % 3
            else [frames.encode(first, new)]
        )
        assert spill.append(blocks, len(lines))
    for first in range(1, len(lines) + 1):
        for max_bytes in (1, 100_000, 1 << 20):
            assert replayed(spill, first, len(lines), max_bytes) == expected(lines[first - 1 :], first)
    assert spill._size == sum(path.stat().st_size for path in tmp_path.iterdir())
    spill.close()
    assert not list(tmp_path.iterdir())


def test_an_event_of_many_megabytes_comes_back(tmp_path: Path) -> None:
    spill = Spill(str(tmp_path), "1", LIMIT)
    line = long_line(1, 20_000_000)
    assert spill.append([frames.encode_line(1, line)], 1)
    assert replayed(spill, 1, 1) == expected([line])
    spill.close()


def test_the_page_cache_is_released_for_long_events_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "posix_fadvise", lambda fd, offset, size, advice: released.append((offset, size)))
    spill = Spill(str(tmp_path), "1", 256 * MIB)
    for number in range(1, 21):
        assert spill.append([frames.encode_line(number, long_line(number, MIB))], number)
    assert len(released) == 2, "once per 8 MiB"
    assert released[0][0] + released[0][1] >= 8 * MIB
    assert released[1][0] <= 8 * MIB, "the last step is advised again, when it has been written"
    short = [short_line(number) for number in range(21, 1_000_021)]
    assert spill.append([frames.encode(21, short)], 1_000_020)
    assert len(released) == 2
    spill.close()


def test_old_segments_go_and_no_descriptor_stays(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    spill = Spill(str(tmp_path), "1", 16 * MIB)
    for number in range(1, 60):
        assert spill.append([frames.encode_line(number, long_line(number, 1_000_000))], number)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 16 * MIB
    oldest = spill.oldest
    assert oldest is not None and 40 < oldest < 50
    assert len(os.listdir("/proc/self/fd")) - before <= len(list(tmp_path.iterdir()))
    spill.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def disk_of_8_mb(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", "size=8m", "none", str(place)], check=True)
    yield place
    subprocess.run(["/bin/umount", str(place)], check=True)


def test_a_disk_that_is_full_keeps_the_newest(disk_of_8_mb: Path) -> None:
    spill = Spill(str(disk_of_8_mb / "spill"), "1", LIMIT)
    lines = [long_line(number, 1_000_000) for number in range(1, 21)]
    for number, line in enumerate(lines, 1):
        assert spill.append([frames.encode_line(number, line)], number)
    oldest = spill.oldest
    assert oldest is not None and 12 <= oldest <= 20
    assert replayed(spill, oldest, 20) == expected(lines[oldest - 1 :], oldest)
    spill.close()
