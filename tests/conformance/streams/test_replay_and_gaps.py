"""Retention: a ring in memory, a spill file behind it, an honest gap where both end."""

from __future__ import annotations

import signal
import stat
from pathlib import Path

import pytest

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.event_stream import SMALL_BUFFER
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

TINY = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}


def flooded(acp: Acp, count: int, size: int = 0) -> str:
    """An instance whose log holds exactly `count` events."""
    server_id = acp.start()
    acp.call(server_id, "test/flood", {"count": count - 2, "size": size}, timeout=20)
    return server_id


@pytest.mark.clause("decision-6", "promise-B")
def test_a_position_that_has_fallen_out_is_reported_as_a_gap(start_server) -> None:
    acp = start_server(settings=TINY).acp
    server_id = flooded(acp, 100)
    with acp.stream(server_id, last_event_id=5) as stream:
        gap, *events = stream.take(11)
        assert (gap.kind, gap.data) == ("gap", b'{"oldest":91,"newest":100}')
        assert [event.number for event in events] == list(range(91, 101))
        acp.call(server_id, "test/echo")
        assert stream.next_message().number == 101


@pytest.mark.clause("promise-B")
def test_a_position_at_the_edge_of_the_ring_is_no_gap(start_server) -> None:
    acp = start_server(settings=TINY).acp
    server_id = flooded(acp, 100)
    for position in (90, 91, 99):
        with acp.stream(server_id, last_event_id=position) as stream:
            numbers = [event.number for event in stream.take(100 - position)]
        assert numbers == list(range(position + 1, 101))


@pytest.mark.clause("decision-6")
def test_without_a_position_a_cut_log_begins_with_a_gap(start_server) -> None:
    """Events 1 to 90 are gone; a reader from the start gets a gap."""
    acp = start_server(settings=TINY).acp
    server_id = flooded(acp, 100)
    with acp.stream(server_id, last_event_id="0") as stream:
        assert stream.next_message().data == b'{"oldest":91,"newest":100}'
        assert stream.next_message().number == 91


@pytest.mark.clause("decision-7")
def test_the_ring_is_also_bounded_in_bytes(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_BYTES": "100000", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}
    acp = start_server(settings=settings).acp
    server_id = flooded(acp, 100, size=10_000)
    with acp.stream(server_id, last_event_id=1) as stream:
        gap = stream.next_message().json()
        assert gap["newest"] == 100
        assert 88 <= gap["oldest"] <= 93
        assert stream.next_message().number == gap["oldest"]


def test_an_event_larger_than_the_whole_ring_still_reaches_a_live_reader(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_BYTES": "1000", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}
    acp = start_server(settings=settings).acp
    server_id = acp.start()
    with acp.stream(server_id) as stream:
        stream.next_message()
        answer = acp.send(server_id, "test/big_line", {"bytes": 50_000}, request_id="big")
        assert stream.next_message().data == answer.body


@pytest.mark.clause("decision-7", "promise-C")
def test_a_connected_reader_that_retention_overtakes_gets_a_gap_in_mid_stream(start_server) -> None:
    acp = start_server(settings=TINY).acp
    server_id = acp.start()
    with acp.stream(server_id, receive_buffer=SMALL_BUFFER, timeout=30) as stream:
        stream.next_message()
        acp.call(server_id, "test/flood", {"count": 5000, "size": 5000}, timeout=30)
        expected, gaps = 2, 0
        while expected <= 5002:
            event = stream.next_message(timeout=20)
            if event.kind == "gap":
                gaps += 1
                assert event.json()["oldest"] > expected
                expected = event.json()["oldest"]
            else:
                assert event.number == expected
                expected += 1
    assert gaps >= 1


@pytest.mark.clause("decision-7", "promise-A")
def test_what_falls_out_of_the_ring_is_replayed_from_disk(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10"})
    acp = server.acp
    server_id = flooded(acp, 5000, size=20)
    with acp.stream(server_id) as stream:
        events = stream.take(5000, timeout=20)
    assert [event.number for event in events] == list(range(1, 5001))
    assert events[2500].json()["params"]["n"] == 2500
    for position in (1, 1234, 4988, 4989, 4990, 4991, 4999):
        with acp.stream(server_id, last_event_id=position) as stream:
            assert stream.next_message().number == position + 1


@pytest.mark.clause("decision-7")
def test_spill_files_are_private_and_go_with_the_instance(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10"})
    acp, folder = server.acp, server.data_home / "sandbox-agent" / "spill"
    server_id = flooded(acp, 1000)
    # The disk is written behind the answer's back.
    big = lambda: [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 1000]  # noqa: E731
    wait_until(big, 5, "a spill file")
    files = big()
    assert len(files) == 1
    assert stat.S_IMODE(files[0].stat().st_mode) == 0o600
    assert acp.delete(server_id).status == 204
    wait_until(lambda: not files[0].exists(), 5, "no spill file after DELETE")
    acp.call(server_id, "test/echo", agent=AGENT)
    with acp.stream(server_id) as stream:
        assert stream.next_message().number > 1000


@pytest.mark.clause("promise-N")
def test_an_id_is_never_a_file_name(start_server) -> None:
    server = start_server(settings={"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "2"})
    acp = server.acp
    server_id = "../../../escape-" + "x" * 900
    acp.call(server_id, "test/flood", {"count": 50}, agent=AGENT)
    names = [str(path) for path in server.data_home.parent.rglob("*")]
    assert not any("escape-" in name for name in names)


@pytest.mark.own_server("signals and the end of the process belong to the process that runs the application")
@pytest.mark.clause("decision-7")
def test_leftover_spill_files_of_a_dead_server_are_removed_at_start(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10"}
    server = start_server(settings=settings)
    flooded(server.acp, 1000)
    folder = server.data_home / "sandbox-agent" / "spill"

    def big() -> list[Path]:
        try:
            return [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 1000]
        except FileNotFoundError:  # removed while we look: look again
            return [folder]

    wait_until(big, 5, "a spill file")
    server.signal(signal.SIGKILL)
    server.wait_for_exit(5)
    second = ServerProcess(server.home.parent, settings=settings)
    try:
        second.ready()
        wait_until(lambda: not big(), 5, "no leftover spill file")
    finally:
        assert second.stop() == 0


@pytest.mark.clause("decision-7")
def test_beyond_ring_and_spill_there_is_an_honest_gap(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10", "SANDBOX_AGENT_SPILL_MAX_BYTES": "100000"}
    acp = start_server(settings=settings).acp
    server_id = acp.start()
    acp.call(server_id, "test/flood", {"count": 2998, "size": 100, "batch": 50, "pause_ms": 5})
    with acp.stream(server_id, last_event_id=1) as stream:
        gap = stream.next_message()
        assert gap.kind == "gap"
        oldest = gap.json()["oldest"]
        assert 100 < oldest < 2990
        assert gap.json()["newest"] == 3000
        events = stream.take(3001 - oldest, timeout=20)
        assert [event.number for event in events] == list(range(oldest, 3001))


@pytest.mark.clause("decision-7")
def test_a_burst_larger_than_the_spill_keeps_its_newest_part(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10", "SANDBOX_AGENT_SPILL_MAX_BYTES": "100000"}
    acp = start_server(settings=settings).acp
    server_id = acp.start()
    acp.call(server_id, "test/flood", {"count": 2998, "size": 100, "batch": 2998})

    def oldest() -> int:
        """Where the gap ends; what waits for the disk is still there, so it grows until all is written."""
        with acp.stream(server_id, last_event_id=1) as stream:
            first = stream.next_message()
            return int(first.json()["oldest"]) if first.kind == "gap" else 0

    wait_until(lambda: oldest() > 2000, 5, "a gap in front of the newest part")
    assert oldest() < 2900


@pytest.mark.clause("decision-7")
def test_eight_thousand_events_are_in_the_ring_by_default(acp: Acp) -> None:
    server_id = flooded(acp, 8192)
    with acp.stream(server_id, last_event_id=0) as stream:
        assert [event.number for event in stream.take(8192, timeout=20)] == list(range(1, 8193))


@pytest.mark.own_server("signals and the end of the process belong to the process that runs the application")
def test_two_servers_may_share_a_data_directory(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10"}
    first = start_server(settings=settings)
    server_id = flooded(first.acp, 1000)
    second = ServerProcess(first.home.parent, settings=settings)
    try:
        second.ready()
        flooded(second.acp, 500)
        with first.acp.stream(server_id) as stream:
            assert [event.number for event in stream.take(1000)] == list(range(1, 1001))
    finally:
        assert second.stop() == 0
