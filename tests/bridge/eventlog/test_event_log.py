"""The log against a model: cursors see every event once, in order, or a gap."""

from __future__ import annotations

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.cursor import Cursor, Gap
from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.bridge.eventlog.spill import Spill
from sandbox_agent.bridge.eventlog.sse_frames import Frames
from tests.support.machine.small_disk import mounted_disk


class Later:
    """A worker whose jobs run when the test says so."""

    def __init__(self) -> None:
        self.jobs: deque[tuple[Callable[[], Any], Callable[[Any], None]]] = deque()

    def __call__(self, job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self.jobs.append((job, done))

    def run_one(self) -> None:
        job, done = self.jobs.popleft()
        done(job())

    def run_all(self) -> None:
        while self.jobs:
            self.run_one()


def line(number: int) -> bytes:
    return b'{"n":%d,"pad":"%b"}' % (number, b"x" * (number * 7 % 23))


def frame(number: int) -> bytes:
    return b"event: message\nid: %d\ndata: %b\n\n" % (number, line(number))


class Client:
    """Reads a stream, remembers the last id, reconnects."""

    def __init__(self, log: EventLog, last: int | None) -> None:
        self.log = log
        self.last = last
        self.woken = False
        self.cursor: Cursor | None = None
        self.connect()

    def connect(self) -> None:
        self.was_ahead = self.last is not None and self.last > self.log.last
        self.cursor = self.log.attach(self.last, self._wake)

    def cut(self) -> None:
        assert self.cursor is not None
        self.cursor.detach()

    def _wake(self) -> None:
        self.woken = True

    def read(self) -> bool:
        """One batch; False when there is nothing now."""
        assert self.cursor is not None
        self.woken = False
        item = self.cursor.take()
        if item is None:
            return False
        if isinstance(item, Gap):
            assert item.newest == self.log.last
            # A cursor without a last number can be overtaken before its first event.
            assert self.was_ahead or self.last is None or self.last + 1 < item.oldest
            self.was_ahead = False
            self.last = item.oldest - 1
            return True
        expected = item.first if self.last is None else self.last + 1
        assert item.first == expected, "a silent skip or a repeat"
        wire = b"".join(frame(n) for n in range(item.first, item.last + 1))
        assert (item.read() if isinstance(item, FileRange) else b"".join(item.pieces)) == wire
        assert wire
        self.last = item.last
        return True


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp(prefix="log-machine-"))
        self.worker = Later()
        self.log = EventLog(
            Retention(ring_events=5, ring_bytes=280),
            first=4,
            spill=Spill(str(self.directory), "1", max_bytes=1000),
            background=self.worker,
        )
        self.clients: list[Client] = []

    @rule(count=st.integers(1, 9))
    def publish(self, count: int) -> None:
        first = self.log.last + 1
        lines = [line(n) for n in range(first, first + count)]
        self.log.publish(lines)

    @precondition(lambda self: len(self.clients) < 4)
    @rule(back=st.integers(-3, 60) | st.none())
    def attach(self, back: int | None) -> None:
        last = None if back is None else max(0, self.log.last - back)
        self.clients.append(Client(self.log, last))

    @precondition(lambda self: self.clients)
    @rule(which=st.integers(0, 3), batches=st.integers(1, 5))
    def read(self, which: int, batches: int) -> None:
        client = self.clients[which % len(self.clients)]
        for _ in range(batches):
            client.read()

    @precondition(lambda self: self.clients)
    @rule(which=st.integers(0, 3))
    def rest(self, which: int) -> None:
        cursor = self.clients[which % len(self.clients)].cursor
        assert cursor is not None
        cursor.release()

    @precondition(lambda self: self.clients)
    @rule(which=st.integers(0, 3))
    def reconnect(self, which: int) -> None:
        client = self.clients[which % len(self.clients)]
        client.cut()
        client.connect()

    @precondition(lambda self: self.worker.jobs)
    @rule()
    def work(self) -> None:
        self.worker.run_one()

    @precondition(lambda self: self.clients)
    @rule()
    def all_clients_catch_up(self) -> None:
        for client in self.clients:
            for _ in range(1000):
                if not client.read():
                    if not self.worker.jobs:
                        break
                    self.worker.run_all()
            assert client.last in (self.log.last, None) or client.last == self.log.oldest - 1 == self.log.last
            assert client.last is not None or self.log.last < self.log.oldest

    @invariant()
    def memory_is_bounded(self) -> None:
        assert self.log.last - self.log._ring_first + 1 <= 5
        assert self.log._ring_bytes == sum(map(sse_frames.size_of, self.log._ring[self.log._head :]))
        assert self.log._ring_bytes <= 280 + 280 // 8 or self.log._ring_first == self.log.last
        assert sum(path.stat().st_size for path in self.directory.iterdir()) <= 1000

    def teardown(self) -> None:
        self.log.close()
        self.worker.run_all()
        left = list(self.directory.iterdir())
        shutil.rmtree(self.directory)
        assert left == []


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=270, stateful_step_count=60, deadline=None)


def numbers(log: EventLog, last: int | None = None) -> list[int | Gap]:
    """Everything a new cursor gets from a log without a background."""
    cursor = log.attach(last, lambda: None)
    seen: list[int | Gap] = []
    while (item := cursor.take()) is not None:
        seen += [item] if isinstance(item, Gap) else range(item.first, item.last + 1)
    cursor.detach()
    return seen


def filled(count: int, ring: int = 1000, **more: Any) -> EventLog:
    log = EventLog(Retention(ring_events=ring), **more)
    for n in range(1, count + 1):
        log.publish([line(n)])
    return log


def test_without_a_spill_the_ring_keeps_exactly_its_size() -> None:
    log = filled(100, ring=10)
    assert numbers(log) == list(range(91, 101))
    assert numbers(log, 5) == [Gap(91, 100), *range(91, 101)]
    assert numbers(log, 90) == list(range(91, 101))
    assert numbers(log, 100) == []
    assert numbers(log, 101) == [Gap(91, 100), *range(91, 101)]
    assert numbers(log, 0) == [Gap(91, 100), *range(91, 101)]


def test_an_empty_log_says_that_the_next_number_is_the_oldest() -> None:
    log = EventLog(Retention(), first=11)
    assert numbers(log, 10) == []
    assert numbers(log, 3) == [Gap(11, 10)]


def test_the_newest_event_stays_however_large_it_is() -> None:
    log = EventLog(Retention(ring_events=10, ring_bytes=200))
    log.publish([b"a" * 50, b"b" * 40])
    log.publish([b"c" * 500])
    assert numbers(log) == [3]
    log.publish([b"d" * 100_000])
    assert numbers(log) == [4]
    log.publish([b"e" * 300, b"f" * 300, b"g" * 300])
    assert numbers(log) == [7]


def test_a_cursor_overtaken_in_the_middle_gets_a_gap() -> None:
    log = filled(3, ring=5)
    cursor = log.attach(None, lambda: None)
    assert isinstance(cursor.take(), Frames)
    for n in range(4, 30):
        log.publish([line(n)])
    assert cursor.take() == Gap(25, 29)
    item = cursor.take()
    assert isinstance(item, Frames)
    assert item.first == 25


def test_closing_wakes_every_cursor_and_forgets_everything(tmp_path: Path) -> None:
    worker = Later()
    log = filled(50, ring=5, spill=Spill(tmp_path, "1", 10_000), background=worker)
    worker.run_all()
    assert list(tmp_path.iterdir())
    woken: list[int] = []
    cursor = log.attach(50, lambda: woken.append(1))
    assert cursor.take() is None
    log.close()
    worker.run_all()
    assert woken
    assert cursor.ended
    assert not list(tmp_path.iterdir())
    log.publish([b"late"])
    assert log.last == 50


def test_spill_files_are_private(tmp_path: Path) -> None:
    spill = Spill(tmp_path / "spill", "1", 1000)
    assert spill.append([frame(1)], 1)
    assert (tmp_path / "spill").stat().st_mode & 0o777 == 0o700
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "spill").iterdir()] == [0o600]
    spill.close()


def test_a_full_disk_keeps_the_newest_and_reports_the_gap(small_disk: Path) -> None:
    worker = Later()
    log = EventLog(
        Retention(ring_events=4), spill=Spill(small_disk / "spill", "1", 1 << 30), background=worker
    )
    big = b'"' + b"x" * 20_000 + b'"'
    for _ in range(200):
        log.publish([big])
        worker.run_all()
    seen = log.attach(0, lambda: None)
    gap = seen.take()
    assert isinstance(gap, Gap)
    assert 100 < gap.oldest < 196, "the disk holds some of the newest, not the oldest"
    total = 0
    while True:
        item = seen.take()
        if item is None:
            if not worker.jobs:
                break
            worker.run_all()
            continue
        assert not isinstance(item, Gap)
        total += item.last - item.first + 1
    assert total == 200 - gap.oldest + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "disk") as place:
        yield place
