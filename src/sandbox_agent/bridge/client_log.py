"""What the clients of an instance have posted: an event log of its own, most of it on disk.

The stream of the agent has the agent's messages only, so those of clients have a log and numbers of their
own. It is written with every POST and read rarely: 48 KiB are collected in memory and then written to
disk together. Without a spill directory the newest 1 MiB is kept in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention

if TYPE_CHECKING:
    from sandbox_agent.bridge.eventlog.cursor import Cursor, Wake
    from sandbox_agent.bridge.eventlog.event_log import Background
    from sandbox_agent.bridge.eventlog.spill import Spill

# Space on disk for one instance, if the spill of its event log may not be smaller than that.
MAX_DISK_BYTES = 64 * 1024 * 1024
# Messages are collected, encoded and written to disk together: one by one each takes 1.0 instead of 0.6 µs of
# the event loop, and writes of 12 KiB cost a request 1.4 µs more than writes of 48 KiB. A reader that waits
# gets them one by one; of these, `ON_DISK` keeps some for one write.
COLLECTED_BYTES = 48 * 1024
ON_DISK = Retention(ring_bytes=0, slack_bytes=4 * 1024)
IN_MEMORY = Retention(ring_bytes=1024 * 1024)
# Longer messages, such as pictures, are kept without their text: a copy of each costs more than its way to
# the agent.
MAX_MESSAGE_BYTES = 32 * 1024
OMITTED = b"null"

# What a collected message takes besides its body.
_OVERHEAD_BYTES = 64
_LINE = b'{"after":%d,"timeMs":%d,"message":%b}\n'
_BEFORE_MESSAGE = b'"message":'


class ClientLog:
    __slots__ = ("_collected", "_collected_bytes", "_max_message_bytes", "log")

    def __init__(self, spill: Spill | None = None, background: Background | None = None) -> None:
        on_disk = spill is not None and background is not None
        self.log = EventLog(ON_DISK if on_disk else IN_MEMORY, spill=spill, background=background)
        self.log.on_congestion = self._on_congestion
        self._max_message_bytes = MAX_MESSAGE_BYTES
        self._collected: list[int | bytes] = []
        """What fills `_LINE`, for one message after the other."""
        self._collected_bytes = 0

    def add(self, after: int, time_ns: int, body: bytes) -> None:
        """Keep a message that was accepted when `after` was the last number of the event log."""
        if len(body) > self._max_message_bytes:
            body = OMITTED
        self._collected += (after, time_ns // 1_000_000, body)
        self._collected_bytes += len(body) + _OVERHEAD_BYTES
        if self._collected_bytes > COLLECTED_BYTES or self.log.waiting:
            self.publish()

    def publish(self) -> None:
        """Hand what was collected to the log: when it is enough, and before a reader takes something."""
        if not self._collected:
            return
        collected, self._collected, self._collected_bytes = self._collected, [], 0
        count = len(collected) // 3
        # No message has a line end, because the pipe to the agent is framed by lines.
        block = sse_frames.encode_block(self.log.last + 1, _LINE * count % tuple(collected), count)
        if block is not None:
            self.log.append(block, count)

    def attach(self, after: int, wake: Wake) -> Cursor:
        """A cursor for everything after message `after`; call `publish` before each `take`."""
        self.publish()
        return self.log.attach(after, wake)

    def _on_congestion(self, congested: bool) -> None:
        """While the disk does not keep up, texts are not kept; clients need not wait for it."""
        self._max_message_bytes = 0 if congested else MAX_MESSAGE_BYTES

    def close(self) -> None:
        self._collected.clear()
        self.log.on_congestion = None
        self.log.close()


def split_line(line: bytes) -> tuple[bytes, bytes]:
    """A line of the log: what stands before the message, with the opening brace, and the message."""
    place, name, rest = line.partition(_BEFORE_MESSAGE)
    return place + name, rest[:-1]
