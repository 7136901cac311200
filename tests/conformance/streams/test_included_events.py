"""`GET /v1/acp/{server_id}?include=client,time`."""

from __future__ import annotations

import time
from urllib.parse import quote

import pytest

from tests.support.clients.acp import Acp
from tests.support.clients.included_stream import opened
from tests.support.problems import assert_problem

pytestmark = pytest.mark.ours


@pytest.mark.clause("decision-57")
def test_what_clients_posted_is_on_the_stream_that_asks_for_it_and_on_no_other(acp: Acp) -> None:
    server_id = acp.start()
    path = acp.path(server_id)
    with opened(acp.client, f"{path}?include=client") as stream:
        client, answer = stream.until("client", "message")
        assert (client[0], client[1]) == ("client", None)
        assert (client[2]["number"], client[2]["after"]) == (1, 0)
        assert client[2]["message"]["method"] == "test/echo"
        assert abs(client[2]["timeMs"] / 1000 - time.time()) < 60
        assert (answer[0], answer[1]) == ("message", "1")
        acp.call(server_id, "test/echo", {"text": "two"})
        frames = stream.until("client", "message")
        (second,) = [data for name, _, data in frames if name == "client"]
        assert (second["number"], second["after"], second["message"]["params"]) == (2, 1, {"text": "two"})
    with opened(acp.client, path) as stream:
        assert [stream.next()[0], stream.next()[0]] == ["message", "message"]


@pytest.mark.clause("decision-57")
def test_what_was_posted_comes_before_what_the_agent_answered(acp: Acp) -> None:
    """In a replay too, whose messages are sent in large batches: a reader can put both in order.

    60 KB have been posted, most of which the server has on disk only.
    """
    server_id = acp.start()
    for number in range(200):
        acp.call(server_id, "test/echo", {"number": number, "text": "x" * 300})
    with opened(acp.client, f"{acp.path(server_id)}?include=client") as stream:
        frames = [stream.next() for _ in range(402)]
    seen = 0
    posted: list[int | None] = []
    for name, number, data in frames:
        if name == "client":
            assert data["after"] >= seen
            posted.append(data["message"]["params"].get("number"))
            assert data["number"] == len(posted)
        else:
            seen = int(number or 0)
    assert seen == 201
    assert posted[1:] == list(range(200))


@pytest.mark.clause("decision-57")
def test_a_reader_resumes_both_numbers_by_themselves(acp: Acp) -> None:
    server_id = acp.start()
    for text in ("a", "b", "c"):
        acp.call(server_id, "test/echo", {"text": text})
    path = f"{acp.path(server_id)}?include=client&clientAfter="
    with opened(acp.client, f"{path}3", **{"last-event-id": "3"}) as stream:
        frames = stream.until("client", "message")
        assert [(name, data.get("number")) for name, _, data in frames if name == "client"] == [("client", 4)]
        assert [id for name, id, _ in frames if name == "message"] == ["4"]
    with opened(acp.client, f"{path}99") as stream:
        assert stream.next() == ("client-gap", None, {"oldest": 1, "newest": 4})
        assert stream.next()[2]["number"] == 1


@pytest.mark.clause("decision-57")
def test_bytes_are_those_that_were_posted(acp: Acp) -> None:
    server_id = acp.start()
    body = b'{"jsonrpc":"2.0","id":  9,"method":"test/echo","params":{"n":1.50,"n":2,"text":"\\u00fc"}}'
    acp.post(server_id, body)
    with acp.client.connect() as connection:
        path = f"{acp.path(server_id)}?include=client&clientAfter=1"
        connection.send(acp.client.build("GET", path, headers={"last-event-id": "2"}))
        connection.read_head()
        assert body in connection.read_until(b"\n\n")


@pytest.mark.clause("stream-times")
def test_times_cover_every_message_replayed_and_live(acp: Acp) -> None:
    before = time.time() * 1000 - 1
    server_id = acp.start()
    acp.call(server_id, "test/echo")
    with opened(acp.client, f"{acp.path(server_id)}?include=time") as stream:
        messages, covered = 0, 0
        while covered < 2:
            name, _, data = stream.next()
            messages += name == "message"
            if name == "time":
                assert covered < data["number"] <= messages
                assert before <= data["timeMs"] <= time.time() * 1000 + 1
                covered = data["number"]
        acp.call(server_id, "test/echo")
        live = stream.until("message", "time")
        assert [name for name, _, _ in live] == ["message", "time"] and live[1][2]["number"] == 3


@pytest.mark.clause("acp-multiplexed-stream", "decision-57", "stream-times")
def test_one_stream_of_several_servers_includes_what_belongs_to_each(acp: Acp) -> None:
    one, two = acp.start(), acp.start()
    acp.call(one, "test/echo", {"text": "seen"})
    acp.call(one, "test/echo", {"text": "next"})
    names = f"{quote(one, safe='')}:2:2,{quote(two, safe='')}"
    with opened(acp.client, f"/v1/events?servers={quote(names, safe='')}&include=client,time") as stream:
        server, frames = "", []
        while len([frame for frame in frames if frame[1] == "time"]) < 2:
            name, _, data = stream.next()
            if name == "server":
                server = data["serverId"]
            else:
                frames.append((server, name, data.get("number")))
        assert [frame for frame in frames if frame[0] == one] == [
            (one, "client", 3),
            (one, "message", None),
            (one, "time", 3),
        ]
        assert [frame[1:] for frame in frames if frame[0] == two] == [
            ("client", 1),
            ("message", None),
            ("time", 1),
        ]
        for server_id in (one, two, one):
            acp.call(server_id, "test/echo")
            live = stream.until("client", "message", "time")
            named = [data["serverId"] for name, _, data in live if name == "server"]
            # A frame of the client's message may come before or after that of its answer.
            assert set(named or [server]) == {server_id}
            server = server_id


def test_wrong_parameters_are_refused(acp: Acp) -> None:
    server_id = acp.start()
    for query in ("include=nonsense", "include=client&clientAfter=x", "include=client&include=time"):
        assert_problem(acp.client.get(f"{acp.path(server_id)}?{query}"), 400, "invalid_request")
    for query in ("a:1:2:3", "a:1:x", f"{server_id}&include=nonsense"):
        assert_problem(acp.client.get(f"/v1/events?servers={query}"), 400, "invalid_request")
