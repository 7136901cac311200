"""Long and short events on disk come back as they were, in order, from any number on."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.direct_file import BLOCK_BYTES, DirectFile
from sandbox_agent.bridge.eventlog.spill import Spill
from tests.support.machine.small_disk import mounted_disk

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
            [sse_frames.encode_line(first + index, line) for index, line in enumerate(new)]
            if batch % 3
            else [sse_frames.encode(first, new)]
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
    assert spill.append([sse_frames.encode_line(1, line)], 1)
    assert replayed(spill, 1, 1) == expected([line])
    spill.close()


@pytest.fixture
def direct_writes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The offsets of all direct writes."""
    offsets: list[int] = []
    write = DirectFile.write

    def noting(self: DirectFile, pieces: list[bytes], offset: int) -> bytes:
        offsets.append(offset)
        return write(self, pieces, offset)

    monkeypatch.setattr(DirectFile, "write", noting)
    return offsets


def test_long_events_are_written_directly_and_short_ones_are_not(
    tmp_path: Path, direct_writes: list[int]
) -> None:
    spill = Spill(str(tmp_path), "1", LIMIT)
    assert spill.append([sse_frames.encode_line(1, long_line(1))], 1)
    assert spill.append([sse_frames.encode(2, [short_line(2)])], 2)
    assert spill.append([sse_frames.encode_line(3, long_line(3))], 3)
    assert len(direct_writes) == 2
    assert all(offset % BLOCK_BYTES == 0 for offset in direct_writes)
    (file,) = tmp_path.iterdir()
    assert file.read_bytes() == expected([long_line(1), short_line(2), long_line(3)])
    spill.close()


@pytest.mark.parametrize("method", ["__init__", "write"])
@pytest.mark.parametrize("code", [errno.EINVAL, errno.EOPNOTSUPP])
def test_a_file_system_without_direct_writes_is_written_through_the_page_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str, code: int
) -> None:
    def refuse(self: DirectFile, *_: object) -> None:
        self._fd = -1
        raise OSError(code, "no direct writes")

    monkeypatch.setattr(DirectFile, method, refuse)
    spill = Spill(str(tmp_path), "1", LIMIT)
    lines = [long_line(number) for number in range(1, 6)]
    for number, line in enumerate(lines, 1):
        assert spill.append([sse_frames.encode_line(number, line)], number)
    assert replayed(spill, 1, 5) == expected(lines)
    spill.close()


def test_old_segments_go_and_no_descriptor_stays(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    spill = Spill(str(tmp_path), "1", 16 * MIB)
    for number in range(1, 60):
        assert spill.append([sse_frames.encode_line(number, long_line(number, 1_000_000))], number)
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 16 * MIB
    oldest = spill.oldest
    assert oldest is not None and 40 < oldest < 50
    assert len(os.listdir("/proc/self/fd")) - before <= len(list(tmp_path.iterdir())) + 1, (
        "the newest is open twice"
    )
    spill.close()
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.fixture
def disk_of_8_mb(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk", megabytes=8) as place:
        yield place


def test_a_disk_that_is_full_keeps_the_newest(disk_of_8_mb: Path) -> None:
    spill = Spill(str(disk_of_8_mb / "spill"), "1", LIMIT)
    lines = [long_line(number, 1_000_000) for number in range(1, 21)]
    for number, line in enumerate(lines, 1):
        assert spill.append([sse_frames.encode_line(number, line)], number)
    oldest = spill.oldest
    assert oldest is not None and 12 <= oldest <= 20
    assert replayed(spill, oldest, 20) == expected(lines[oldest - 1 :], oldest)
    spill.close()


@pytest.mark.parametrize("in_one_block", [True, False])
def test_a_write_larger_than_a_segment_is_dropped_segment_by_segment(
    tmp_path: Path, in_one_block: bool
) -> None:
    """One write fills the spill; the short ones after it take the place of its oldest part only."""
    spill = Spill(str(tmp_path), "1", 80_000)
    lines = [short_line(number) + b" " * 80 for number in range(1, 3001)]
    singly = [sse_frames.encode_line(number, line) for number, line in enumerate(lines, 1)]
    assert spill.append([sse_frames.encode(1, lines)] if in_one_block else singly, 3000)
    kept = spill.oldest
    assert kept is not None and 2300 < kept < 2400
    for number in range(3001, 3101):
        lines.append(short_line(number))
        assert spill.append([sse_frames.encode_line(number, lines[-1])], number)
    oldest = spill.oldest
    assert oldest is not None and kept < oldest < 2500
    assert replayed(spill, oldest, 3100, 4096) == expected(lines[oldest - 1 :], oldest)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 80_000
    spill.close()


def test_an_event_larger_than_the_limit_leaves_nothing_behind(tmp_path: Path) -> None:
    """What came before it does not follow what comes after it."""
    spill = Spill(str(tmp_path), "1", 100_000)
    assert spill.append([sse_frames.encode_line(1, short_line(1))], 1)
    assert not spill.append([sse_frames.encode_line(2, long_line(2, 200_000))], 2)
    assert spill.oldest is None and not list(tmp_path.iterdir())
    assert spill.append([sse_frames.encode_line(3, short_line(3))], 3)
    assert spill.oldest == 3
    spill.close()
