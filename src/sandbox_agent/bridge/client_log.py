"""What the clients of an instance have posted: an event log of its own, most of it on disk.

The stream of the agent has the agent's messages only, so those of clients have a log and numbers of their
own. It is written with every POST and read rarely: up to 16 KiB are collected in memory and then written to
disk together. Without a spill directory the newest 1 MiB is kept in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention

if TYPE_CHECKING:
    from sandbox_agent.bridge.eventlog.event_log import Background
    from sandbox_agent.bridge.eventlog.spill import Spill

# Space on disk for one instance, if the spill of its event log may not be smaller than that.
MAX_DISK_BYTES = 64 * 1024 * 1024
# A write to disk costs as much as fifty short messages, so about that many are collected for one.
ON_DISK = Retention(ring_bytes=0, slack_bytes=16 * 1024)
IN_MEMORY = Retention(ring_bytes=1024 * 1024)
# Longer messages, such as pictures, are kept without their text: a copy of each costs more than its way to
# the agent.
MAX_MESSAGE_BYTES = 32 * 1024
OMITTED = b"null"

_LINE = b'{"after":%d,"timeMs":%d,"message":%b}'
_BEFORE_MESSAGE = b'"message":'


class ClientLog:
    __slots__ = ("_max_message_bytes", "log")

    def __init__(self, spill: Spill | None = None, background: Background | None = None) -> None:
        on_disk = spill is not None and background is not None
        self.log = EventLog(ON_DISK if on_disk else IN_MEMORY, spill=spill, background=background)
        self.log.on_congestion = self._on_congestion
        self._max_message_bytes = MAX_MESSAGE_BYTES

    def add(self, after: int, time_ns: int, body: bytes) -> None:
        """Keep a message that was accepted when `after` was the last number of the event log."""
        if len(body) > self._max_message_bytes:
            body = OMITTED
        self.log.publish_line(_LINE % (after, time_ns // 1_000_000, body))

    def _on_congestion(self, congested: bool) -> None:
        """While the disk does not keep up, texts are not kept; clients need not wait for it."""
        self._max_message_bytes = 0 if congested else MAX_MESSAGE_BYTES

    def close(self) -> None:
        self.log.on_congestion = None
        self.log.close()


def split_line(line: bytes) -> tuple[bytes, bytes]:
    """A line of the log: what stands before the message, with the opening brace, and the message."""
    place, name, rest = line.partition(_BEFORE_MESSAGE)
    return place + name, rest[:-1]
