"""GET /v1/events: several instances in one stream, each with its own numbers and gaps."""

from __future__ import annotations

from collections import defaultdict
from urllib.parse import quote

import pytest

from tests.support.clients.acp import Acp
from tests.support.clients.event_stream import Event, EventStream, StreamEnded

pytestmark = pytest.mark.ours


class Events(EventStream):
    """An open `GET /v1/events`."""

    def __init__(self, acp: Acp, *entries: str) -> None:
        super().__init__(acp.client, path=f"/v1/events?servers={quote(','.join(entries), safe='')}")
        self._server = ""

    def numbered(self, count: int) -> dict[str, list[Event]]:
        """The next `count` numbered events and gaps by server."""
        found: dict[str, list[Event]] = defaultdict(list)
        while sum(map(len, found.values())) < count:
            event = self.next_message()
            if event.kind == "server":
                self._server = event.json()["serverId"]
            else:
                assert self._server
                found[self._server].append(event)
        return found


@pytest.mark.clause("acp-multiplexed-stream", "decision-52")
def test_each_server_has_its_own_numbers_replayed_and_live(acp: Acp) -> None:
    one, two = acp.start(), acp.start()
    acp.call(one, "test/flood", {"count": 50, "size": 10})
    last = acp.entry(two)["lastEventId"]
    with Events(acp, one, f"{two}:{last}") as stream:
        replayed = stream.numbered(52)
        assert list(replayed) == [one]
        assert [event.number for event in replayed[one]] == list(range(1, 53))
        for round_number in range(1, 4):
            for server in (two, one):
                acp.call(server, "test/echo")
            live = stream.numbered(2)
            assert [event.number for event in live[two]] == [last + round_number]
            assert [event.number for event in live[one]] == [acp.entry(one)["lastEventId"]]


@pytest.mark.clause("acp-multiplexed-stream")
def test_a_gap_belongs_to_its_server(start_server) -> None:
    settings = {"SANDBOX_AGENT_REPLAY_MAX_EVENTS": "10", "SANDBOX_AGENT_SPILL_MAX_BYTES": "0"}
    acp = start_server(settings=settings).acp
    cut, whole = acp.start(), acp.start()
    acp.call(cut, "test/flood", {"count": 98, "size": 0}, timeout=20)
    with Events(acp, f"{cut}:3", f"{whole}:0") as stream:
        newest = acp.entry(cut)["lastEventId"]
        found = stream.numbered(11 + acp.entry(whole)["lastEventId"])
    assert found[cut][0].kind == "gap"
    assert [event.number for event in found[cut][1:]] == list(range(newest - 9, newest + 1))
    assert [event.number for event in found[whole]] == [1]


@pytest.mark.clause("acp-multiplexed-stream")
def test_a_server_that_is_closed_or_missing_ends_and_the_others_go_on(acp: Acp) -> None:
    kept, closed = acp.start(), acp.start()
    with Events(acp, "never,seen".replace(",", "%2C"), f"{closed}:1", f"{kept}:1") as stream:
        missing = stream.next_message()
        assert (missing.kind, missing.json()) == ("end", {"serverId": "never,seen"})
        acp.delete(closed)
        ended = stream.next_message()
        assert (ended.kind, ended.json()) == ("end", {"serverId": closed})
        acp.call(kept, "test/echo")
        assert [event.number for event in stream.numbered(1)[kept]] == [2]
        acp.delete(kept)
        assert stream.next_message().json() == {"serverId": kept}
        with pytest.raises(StreamEnded):
            stream.next_message()


@pytest.mark.clause("acp-multiplexed-stream")
@pytest.mark.parametrize(
    "query", ["", "servers=", "servers=a,a", "servers=a:x", "servers=a:-1", "servers=a,,b"]
)
def test_a_list_that_cannot_be_read_is_refused(acp: Acp, query: str) -> None:
    assert acp.client.get(f"/v1/events?{query}").status == 400


@pytest.mark.clause("acp-multiplexed-stream", "decision-52")
def test_it_can_be_switched_off(start_server) -> None:
    acp = start_server(settings={"SANDBOX_AGENT_EVENTS": "off"}).acp
    assert acp.client.get("/v1/events?servers=a").status == 404


@pytest.mark.clause("acp-facts-of-one")
def test_the_facts_of_one_instance_are_asked_by_its_id(acp: Acp) -> None:
    one, other = acp.start(), acp.start()
    listed = acp.client.get(f"/v1/acp?serverId={quote(one, safe='')}").json()["servers"]
    assert [row["serverId"] for row in listed] == [one]
    assert other != one
    assert acp.client.get("/v1/acp?serverId=never-seen").json()["servers"] == []
