"""Figures about what reaches a reader: reconnects, evicted positions, slow readers, long lines, the end."""

from __future__ import annotations

from pathlib import Path

from tests.chaos.timing import LIMIT_S, timed
from tests.support.clients.event_stream import StreamEnded
from tests.support.clients.reconnecting_readers import reconnect_against_a_flood
from tests.support.server_process import ServerProcess

FLOOD = 20_000
RECONNECTS, FAR_BEHIND = 7500, 1500
LONG_LINE = 200_000_000


def a_reconnects_close_behind(server: ServerProcess) -> str:
    """7,500 reconnects of three readers close behind a flood."""
    return _reconnects(server, RECONNECTS, lead=300)


def a_reconnects_far_behind(server: ServerProcess) -> str:
    """1,500 reconnects of three readers against a flood that waits for no reader."""
    return _reconnects(server, FAR_BEHIND, lead=None)


def _reconnects(server: ServerProcess, times: int, lead: int | None) -> str:
    outcome = reconnect_against_a_flood(server.acp, server.acp.start(), times, lead)
    return f"{len(outcome.faults)} gaps or repeats in {outcome.reconnects} reconnects"


def b_evicted_position(server: ServerProcess) -> str:
    """8,200 events later: what a reader at position 10 gets first."""
    server_id = server.acp.start()
    server.acp.call(server_id, "test/flood", {"count": 8200}, timeout=30)
    with server.acp.stream(server_id, last_event_id=10) as stream:
        first = stream.next_message()
    return f"starts with {first.kind} {first.number or first.data.decode()}, 11 would be right"


def c_slow_reader(server: ServerProcess) -> str:
    """A reader that stands still during a flood of 20,000 messages, then reads."""
    server_id = server.acp.start()
    with server.acp.stream(server_id, receive_buffer=128 * 1024) as stream:
        stream.next_message()
        server.acp.call(server_id, "test/flood", {"count": FLOOD, "size": 200}, timeout=60)
        got = gaps = 0
        try:
            while got < FLOOD:
                kind = stream.next_message(3).kind
                got, gaps = got + (kind == "message"), gaps + (kind == "gap")
        except (TimeoutError, StreamEnded):
            pass
    return f"{FLOOD - got} of {FLOOD} lost, {gaps} gap events"


def e_long_line(server: ServerProcess) -> str:
    """A notification of 200 MB: the most memory it ever cost, and whether the stream lives on."""
    server_id = server.acp.start()
    before = _peak_bytes(server.pid)
    server.acp.notify(server_id, "test/big_line", {"bytes": LONG_LINE, "as_answer": False})
    after = timed(lambda: server.acp.send(server_id, "test/echo", timeout=LIMIT_S).status)
    return f"{(_peak_bytes(server.pid) - before) / 1e6:+.0f} MB at the most; the next request: {after}"


def _peak_bytes(pid: int) -> int:
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def o_end_of_a_stream(server: ServerProcess) -> str:
    """How a stream ends when its instance is deleted."""
    server_id = server.acp.start()
    with server.acp.stream(server_id) as stream:
        stream.next_message()
        deleting = server.acp.in_background(server.acp.delete, server_id, timeout=LIMIT_S)
        came = timed(lambda: f"{len(stream.read_to_the_clean_end(LIMIT_S))} more, clean end")
        deleting.exception()
    return came


FIGURES = [
    a_reconnects_close_behind,
    a_reconnects_far_behind,
    b_evicted_position,
    c_slow_reader,
    e_long_line,
    o_end_of_a_stream,
]
