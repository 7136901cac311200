from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.bridge import client_log
from sandbox_agent.bridge.client_log import ClientLog, split_line
from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.cursor import Gap
from sandbox_agent.bridge.eventlog.file_range import FileRange
from sandbox_agent.bridge.eventlog.spill import Spill


def kept(log: ClientLog, after: int = 0) -> list[tuple[int, dict[str, Any]]]:
    """The numbers and messages after a number, from disk and from memory; a gap is not among them."""
    cursor = log.attach(after, lambda: None)
    messages: list[tuple[int, dict[str, Any]]] = []
    while not cursor.is_at_end:
        item = cursor.take()
        if isinstance(item, Gap) or item is None:
            continue
        pieces = [item.read()] if isinstance(item, FileRange) else item.pieces
        messages += [(number, json.loads(line)) for number, line in sse_frames.lines_of(pieces)]
    cursor.detach()
    return messages


def on_disk(directory: Path, max_bytes: int = client_log.MAX_DISK_BYTES) -> ClientLog:
    """A log whose writes are finished when they are begun."""
    return ClientLog(Spill(str(directory), "1", max_bytes), lambda job, done: done(job()))


def test_messages_are_numbered_from_one_with_their_place_and_time() -> None:
    log = ClientLog()
    log.add(0, 1_500_000_000, b"{}")
    log.add(7, 2_000_000_000, b'{"message":[]}')
    assert kept(log) == [
        (1, {"after": 0, "timeMs": 1500, "message": {}}),
        (2, {"after": 7, "timeMs": 2000, "message": {"message": []}}),
    ]
    assert [number for number, _ in kept(log, 1)] == [2]
    assert kept(log, 2) == []


def test_memory_holds_a_few_kilobytes_and_the_disk_holds_the_rest(tmp_path: Path) -> None:
    log = on_disk(tmp_path)
    for number in range(1, 5001):
        log.add(number, 0, b'{"text":"%b"}' % (b"x" * 200))
    size = sum(file.stat().st_size for file in tmp_path.iterdir())
    assert size > 5000 * 200 - client_log.COLLECTED_BYTES
    in_memory = log.log.in_memory(log.log.first_in_memory)
    assert in_memory is not None and sum(map(len, in_memory.pieces)) < 1000, "the newest only"
    assert [number for number, _ in kept(log)] == list(range(1, 5001))
    log.close()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["disk", "memory"])
def test_the_oldest_messages_go_when_there_are_too_many(tmp_path: Path, where: str) -> None:
    log = on_disk(tmp_path, 128 * 1024) if where == "disk" else ClientLog()
    limit = 128 * 1024 if where == "disk" else client_log.IN_MEMORY.ring_bytes
    count = limit // client_log.MAX_MESSAGE_BYTES * 3
    for _ in range(count):
        log.add(0, 0, b"x" * client_log.MAX_MESSAGE_BYTES)
    log.publish()
    assert log.log.last == count
    assert 1 < log.log.oldest <= count
    cursor = log.attach(0, lambda: None)
    assert cursor.take() == Gap(log.log.oldest, count)


def test_the_text_of_a_long_message_is_not_kept() -> None:
    log = ClientLog()
    log.add(0, 0, b"x" * (client_log.MAX_MESSAGE_BYTES + 1))
    assert [message["message"] for _, message in kept(log)] == [None]


def test_texts_are_not_kept_while_the_disk_does_not_keep_up(tmp_path: Path) -> None:
    delayed: list[Callable[[], None]] | None = []

    def background(job: Callable[[], Any], done: Callable[[Any], None]) -> None:
        if delayed is None:
            done(job())
        else:
            delayed.append(lambda: done(job()))

    log = ClientLog(Spill(str(tmp_path), "1", 1 << 30), background)
    body = b'{"text":"%b"}' % (b"x" * 30_000)
    before = 0
    while not log.log.congested:
        log.add(0, 0, body)
        before += 1
    log.add(0, 0, body)
    writes, delayed = delayed, None
    for write in writes:
        write()
    log.add(0, 0, body)
    messages = [message["message"] for number, message in kept(log) if number >= before]
    assert [message is None for message in messages] == [False, True, False]


def test_waiting_readers_are_called() -> None:
    log = ClientLog()
    called: list[int] = []
    cursor = log.attach(0, lambda: called.append(log.log.last))
    assert cursor.take() is None
    log.add(0, 0, b"{}")
    log.add(0, 0, b"{}")
    assert called == [1]


def test_a_line_is_split_before_the_message() -> None:
    assert split_line(b'{"after":1,"timeMs":2,"message":{"message":{}}}') == (
        b'{"after":1,"timeMs":2,"message":',
        b'{"message":{}}',
    )
