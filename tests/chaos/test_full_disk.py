"""A real small disk below the spill directory: it fills up, events go on, readers get a gap."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.clients.event_stream import method_is
from tests.support.machine.small_disk import mounted_disk
from tests.support.server_process import ServerProcess


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_disk(tmp_path / "server-0" / "data" / "sandbox-agent" / "spill") as place:
        yield place


@pytest.mark.clause("promise-B-full-disk")
def test_a_full_disk_costs_the_oldest_events_and_is_reported_as_a_gap(small_disk: Path, start_server) -> None:
    server: ServerProcess = start_server(arguments=["--replay-max-events", "100"])
    acp = server.acp
    server_id = acp.start()
    acp.call(server_id, "test/flood", {"count": 10_000, "size": 500}, timeout=30)
    newest = acp.entry(server_id)["lastEventId"]  # type: ignore[index]
    with acp.stream(server_id, last_event_id=1) as stream:
        gap = stream.next_message()
        assert gap.kind == "gap"
        oldest = gap.json()["oldest"]
        events = stream.take(newest - oldest + 1, timeout=20)
        assert [event.number for event in events] == list(range(oldest, newest + 1))
        assert newest - oldest >= 99, "the newest are all there"
        acp.notify(server_id, "test/ask_client", {"method": "after/the-flood"})
        stream.until(method_is("after/the-flood"))
    assert server.client.get("/v1/health").status == 200
    assert acp.delete(server_id).status == 204
