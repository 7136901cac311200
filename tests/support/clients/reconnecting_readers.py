"""Three readers that disconnect and resume at their last event many times, while an agent floods.

With a lead, the flood stays that many events ahead of the slowest reader: each connection begins with a
replay and most of them reach the live events. Without a lead the readers fall back farther with each replay.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from tests.support.clients.acp import Acp
from tests.support.clients.event_stream import StreamEnded
from tests.support.clients.raw_http import ConnectionClosed

READERS = 3
LIMIT_S = 200.0
# A reader without an event for this long counts as having lost one.
SILENCE_S = 15.0


@dataclass
class Outcome:
    reconnects: int = 0
    faults: list[str] = field(default_factory=list)
    """Every event that was not the one after the last, and every silence."""


class _Reader(threading.Thread):
    def __init__(self, acp: Acp, server_id: str, which: int, times: int) -> None:
        super().__init__(daemon=True)
        self.acp, self.server_id, self.which, self.times = acp, server_id, which, times
        self.position = self.done = 0
        self.faults: list[str] = []

    def run(self) -> None:
        for number in range(self.times):
            try:
                self._once(1 + (number * 7 + self.which) % 11)
            except (TimeoutError, StreamEnded, ConnectionClosed, OSError) as error:
                self.faults.append(f"reader {self.which}: {type(error).__name__} after {self.position}")
                return
            self.done += 1

    def _once(self, count: int) -> None:
        stream = self.acp.stream(self.server_id, last_event_id=self.position, timeout=SILENCE_S)
        with stream:
            for event in stream.take(count, timeout=SILENCE_S):
                if event.number != self.position + 1:
                    self.faults.append(
                        f"reader {self.which}: {event.kind} {event.number} after {self.position}"
                    )
                self.position = event.number or self.position


def reconnect_against_a_flood(acp: Acp, server_id: str, reconnects: int, lead: int | None) -> Outcome:
    readers = [_Reader(acp, server_id, which, reconnects // READERS) for which in range(READERS)]
    for reader in readers:
        reader.start()
    deadline = time.monotonic() + LIMIT_S
    if lead is None:
        _flood(acp, server_id, 10**9, {"background": True, "batch": 10, "pause_ms": 2})
        for reader in readers:
            reader.join(max(0.0, deadline - time.monotonic()))
        acp.notify(server_id, "test/stop_flood")
    else:
        _flood_ahead(acp, server_id, readers, lead, deadline)
    return Outcome(sum(one.done for one in readers), [fault for one in readers for fault in one.faults])


def _flood_ahead(acp: Acp, server_id: str, readers: list[_Reader], lead: int, deadline: float) -> None:
    written = 0
    while time.monotonic() < deadline and (reading := [one for one in readers if one.is_alive()]):
        if written - min(reader.position for reader in reading) < lead:
            _flood(acp, server_id, 100, {"batch": 5, "pause_ms": 1})
            written += 100
        else:
            time.sleep(0.005)


def _flood(acp: Acp, server_id: str, count: int, pace: dict[str, Any]) -> None:
    acp.notify(server_id, "test/flood", {"count": count, "size": 40, **pace})
