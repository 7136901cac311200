"""What goes to an agent's stdin: in order and whole, however slowly the other end reads."""

from __future__ import annotations

import asyncio
import os

from sandbox_agent.bridge.stdio.stdin_queue import QueuedMessage, StdinQueue


class Stdin:
    """A pipe whose read end the test holds."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        os.set_blocking(write_end, False)
        self.closed: list[bool] = []
        self.queue = StdinQueue(asyncio.get_running_loop(), write_end, lambda: self.closed.append(True))

    async def read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            data += await asyncio.wait_for(asyncio.to_thread(os.read, self.read_end, size - len(data)), 10)
        return data

    def end(self) -> None:
        self.queue.close()
        os.close(self.read_end)


async def test_messages_of_one_turn_go_out_together_and_in_order() -> None:
    stdin = Stdin()
    written: list[int] = []
    for number in range(1500):
        stdin.queue.put(QueuedMessage(b"m%d" % number, lambda number=number: written.append(number)))
    assert written == [], "nothing goes out before the turn is over"
    expected = b"".join(b"m%d\n" % number for number in range(1500))
    assert await stdin.read(len(expected)) == expected
    assert written == list(range(1500))
    assert stdin.queue.queued_bytes == 0
    stdin.end()


async def test_an_end_that_does_not_read_keeps_the_order_and_the_count() -> None:
    stdin = Stdin()
    messages = [QueuedMessage(bytes([65 + number]) * 700_000) for number in range(4)]
    for message in messages:
        stdin.queue.put(message)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert 0 < messages[0].sent, "the pipe takes what it can"
    assert not messages[3].sent
    stdin.queue.withdraw(messages[0])
    stdin.queue.withdraw(messages[2])
    expected = b"".join(message.data + b"\n" for message in (messages[0], messages[1], messages[3]))
    assert await stdin.read(len(expected)) == expected
    assert messages[0].written
    assert not messages[2].written
    assert stdin.queue.queued_bytes == 0
    stdin.end()


async def test_a_closed_end_is_reported_once_and_later_messages_are_dropped() -> None:
    stdin = Stdin()
    os.close(stdin.read_end)
    message = QueuedMessage(b"not read")
    stdin.queue.put(message)
    await asyncio.sleep(0)
    assert stdin.closed == [True]
    assert stdin.queue.closed
    stdin.queue.put(QueuedMessage(b"nor this"))
    await asyncio.sleep(0)
    assert stdin.closed == [True]
    assert not message.written
    assert stdin.queue.queued_bytes == 0
