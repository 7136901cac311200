"""Whatever an agent writes: all of it is published in order, and no step of it holds the event loop."""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Iterator
from statistics import median

import pytest

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.output_publisher import OutputPublisher
from sandbox_agent.bridge.stdio.line_framer import DroppedLine
from sandbox_agent.runtime import running_loop
from sandbox_agent.runtime.loop import Loop

MIB = 1 << 20
LIMIT_S = 0.02
READ_BYTES = 64 * 1024


class Owner:
    """An instance of which only the output matters."""

    def __init__(self, max_line_bytes: int = 64 * MIB) -> None:
        self.closed = False
        self.paused = False
        self.ids: list[bytes] = []
        self.dropped: list[bytes] = []
        self.log = EventLog(Retention(1_000_000, 256 * MIB))
        self.output = OutputPublisher(self, self.log, max_line_bytes, True)

    def on_message_with_id(self, raw_id: bytes, has_method: bool, line: bytes) -> None:
        self.ids.append(raw_id)

    def on_dropped_answer(self, raw_id: bytes) -> None:
        self.dropped.append(raw_id)

    def pause_output(self) -> None:
        self.paused = True

    def resume_output(self) -> None:
        self.paused = False

    def published(self) -> list[bytes]:
        blocks = b"".join(b"".join(block) if isinstance(block, tuple) else block for block in self.log._ring)
        frames = blocks.split(b"\n\n")[:-1]
        assert [int(frame.split(b"\n")[1][4:]) for frame in frames] == list(range(1, len(frames) + 1))
        return [frame.partition(b"\ndata: ")[2] for frame in frames]


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loop]:
    envelope.load_msgspec()
    loop = Loop()
    monkeypatch.setattr(running_loop, "_server_loop", loop)
    gc.disable()  # The objects of the test run are not those of a server.
    yield loop
    gc.enable()


def write(loop: Loop, owner: Owner, data: bytes) -> float:
    """Give the publisher blocks of whole lines, as they are read; returns the time of the longest step."""
    longest, at = 0.0, 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + READ_BYTES) + 1 or data.index(b"\n", at) + 1
        began = time.thread_time()
        owner.output.take_block(data[at:end])
        longest = max(longest, time.thread_time() - began)
        at = end
        while owner.paused:
            began = time.thread_time()
            loop.turn(5)
            longest = max(longest, time.thread_time() - began)
    return longest


LINES = {
    "short lines that are not JSON": (b"x\n", 100_000),
    "arrays": (b"[]\n", 50_000),
    "empty objects": (b"{}\n", 100_000),
    "answers": (b'{"id":1}\n', 100_000),
    "lone surrogates": (b'{"a":"\\ud800"}\n', 50_000),
    "invalid UTF-8": (b"\xff\n", 50_000),
    "mixed": (b'{"method":"a"}\n' * 30 + b"x\n", 5_000),
    "deep nesting": (b"[" * 3000 + b"]" * 3000 + b"\n", 50),
}


@pytest.mark.clause("security-L7")
@pytest.mark.parametrize("kind", LINES)
def test_many_lines_are_published_in_steps(loop: Loop, kind: str) -> None:
    block, times = LINES[kind]
    longest = []
    for _ in range(3):
        owner = Owner()
        longest.append(write(loop, owner, block * times))
        assert owner.log.last == block.count(b"\n") * times
    assert median(longest) < LIMIT_S


LONG = {
    "plain": b'{"id":7,"result":"%b"}' % (b"x" * 16 * MIB),
    "not ASCII": b'{"id":7,"result":"%b"}' % ("€".encode() * (16 * MIB // 3)),
    "numbers": b'{"id":7,"result":[%b1]}' % (b"1," * (8 * MIB)),
    "brackets": b'{"result":[%b1],"id":7}' % (b"[]," * (5 * MIB)),
    "escapes": b'{"id":7,"result":"%b"}' % (b"\\n" * (8 * MIB)),
    "a lone surrogate": b'{"id":7,"result":"%b\\ud800"}' % (b"x" * 30 * MIB),
    "lone surrogates": b'{"id":7,"result":"%b"}' % (b"\\ud800" * (16 * MIB // 6)),
}


@pytest.mark.clause("security-L7")
@pytest.mark.parametrize("kind", LONG)
def test_a_long_line_is_read_in_a_thread_and_later_lines_follow_it(loop: Loop, kind: str) -> None:
    owner = Owner()
    line = LONG[kind]
    began = time.thread_time()
    owner.output.take([line, b'{"id":8}\n{"method":"a"}\n', b"x\n"])
    steps = [time.thread_time() - began]
    while owner.paused:
        began = time.thread_time()
        loop.turn(60)
        steps.append(time.thread_time() - began)
    assert max(steps) < LIMIT_S
    assert owner.ids == [b"7", b"8"]
    first, second, third, fourth = owner.published()
    assert first == line and second == b'{"id":8}' and third == b'{"method":"a"}'
    assert json.loads(fourth)["method"] == "_adapter/invalid_stdout"


@pytest.mark.serial
@pytest.mark.clause("security-L7")
@pytest.mark.parametrize("kind", [kind for kind in LONG if kind not in ("plain", "not ASCII")])
def test_reading_a_long_line_does_not_keep_other_threads_from_running(kind: str) -> None:
    """One call of msgspec, or one match of the scanner, would hold the interpreter lock for all of it."""
    envelope.load_msgspec()

    def longest_pause() -> float:
        worker = threading.Thread(target=envelope.peek_in_thread, args=(LONG[kind],))
        longest, before = 0.0, time.perf_counter()
        worker.start()
        while worker.is_alive():
            time.sleep(0.0005)
            now = time.perf_counter()
            longest, before = max(longest, now - before), now
        return longest

    assert median(longest_pause() for _ in range(5)) < 0.1


@pytest.mark.clause("security-L9")
def test_a_dropped_answer_is_reported_with_its_id() -> None:
    owner = Owner(100)
    owner.output.take([DroppedLine(b'{"jsonrpc":"2.0","id":"a","result":"xxxxx'), b"{}\n"])
    assert owner.dropped == [b'"a"']
    for beginning in (b"", b"x" * 500, b'{"method":"a","id":1', b'{"id":1,"method":"a"'):
        owner.output.take([DroppedLine(beginning)])
    assert owner.dropped == [b'"a"']
    assert owner.log.last == 6
