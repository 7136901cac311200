"""Nothing lost, nothing twice, no reader slowed: paused readers, reconnects against a flood."""

from __future__ import annotations

import pytest

from tests.support.clients.acp import Acp
from tests.support.clients.event_stream import SMALL_BUFFER
from tests.support.clients.reconnecting_readers import reconnect_against_a_flood
from tests.support.processes import resident_bytes, wait_until

RECONNECTS = 7500
FAR_BEHIND = 1500


@pytest.mark.clause("decision-8", "promise-C")
def test_a_paused_reader_loses_none_of_twenty_thousand_notifications(acp: Acp, server_id: str) -> None:
    with (
        acp.stream(server_id, receive_buffer=SMALL_BUFFER, timeout=30) as paused,
        acp.stream(server_id) as busy,
    ):
        paused.next_message()
        waiting = acp.in_background(
            acp.call, server_id, "test/flood", {"count": 20_000, "size": 600}, timeout=30
        )
        assert [event.number for event in busy.take(20_002, timeout=30)] == list(range(1, 20_003))
        waiting.result(30)
        events = paused.take(20_001, timeout=30)
    assert [event.number for event in events] == list(range(2, 20_003))
    assert [event.json()["params"]["n"] for event in events[:-1]] == list(range(1, 20_001))


@pytest.mark.clause("decision-8", "promise-C")
@pytest.mark.parametrize(("count", "size", "batch"), [(6000, 20_000, 20), (12_000, 10_000, 1)])
def test_a_stuck_reader_costs_no_memory_and_slows_no_other_reader(start_server, count, size, batch) -> None:
    """120 MB go by; the ring holds 4 MB, the rest is on disk, and the stuck reader gets every byte of it."""
    server = start_server(settings={"SANDBOX_AGENT_REPLAY_MAX_BYTES": str(4 << 20)})
    acp = server.acp
    server_id = acp.start()
    with acp.stream(server_id, receive_buffer=SMALL_BUFFER, timeout=40) as stuck:
        stuck.next_message()
        acp.call(server_id, "test/flood", {"count": 500, "size": size}, timeout=30)
        before = resident_bytes(server.pid)
        acp.call(server_id, "test/flood", {"count": count, "size": size, "batch": batch}, timeout=40)
        assert resident_bytes(server.pid) - before < 40 << 20
        assert acp.client.get("/v1/health").status == 200
        numbers = [event.number for event in stuck.take(count + 502, timeout=40)]
    assert numbers == list(range(2, count + 504))


@pytest.mark.clause("promise-A", "http-reconnects")
@pytest.mark.timeout(240)
def test_reconnects_against_a_live_flood_lose_nothing_and_repeat_nothing(acp: Acp, server_id: str) -> None:
    """Three readers cut and come back with their last number, 7,500 times, close behind the flood."""
    outcome = reconnect_against_a_flood(acp, server_id, RECONNECTS, lead=300)
    assert not outcome.faults, outcome.faults[:20]
    assert outcome.reconnects == RECONNECTS


@pytest.mark.clause("http-reconnects")
@pytest.mark.timeout(240)
def test_readers_that_a_flood_leaves_behind_reconnect_and_lose_nothing(acp: Acp, server_id: str) -> None:
    """The same against a flood that waits for no reader, so that replays come from ever farther back."""
    outcome = reconnect_against_a_flood(acp, server_id, FAR_BEHIND, lead=None)
    assert not outcome.faults, outcome.faults[:20]
    assert outcome.reconnects == FAR_BEHIND


@pytest.mark.clause("promise-A")
def test_a_late_reader_joins_a_flood_without_gap_or_repeat(acp: Acp, server_id: str) -> None:
    acp.call(
        server_id, "test/flood", {"count": 10**9, "size": 10, "batch": 50, "pause_ms": 1, "background": True}
    )
    wait_until(lambda: acp.entry(server_id)["lastEventId"] > 1000, 10, "a thousand events")
    streams = [acp.stream(server_id) for _ in range(5)]
    try:
        for stream in streams:
            assert [event.number for event in stream.take(3000, timeout=20)] == list(range(1, 3001))
    finally:
        for stream in streams:
            stream.close()


@pytest.mark.clause("spec1-3.5-isolation")
def test_a_flood_on_one_id_does_not_starve_another(acp: Acp, server_id: str) -> None:
    other = acp.start()
    acp.call(server_id, "test/flood", {"count": 10**9, "size": 100, "background": True})
    with acp.stream(server_id) as stream:
        stream.take(1000)
        for _ in range(10):
            acp.call(other, "test/echo", timeout=4)
            assert acp.client.get("/v1/health", timeout=4).status == 200
