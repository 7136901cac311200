"""Any order of messages, requests, opened and cut streams: each event reaches the client exactly once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.bridge.instance import Instance
from sandbox_agent.bridge.instance_limits import InstanceLimits
from sandbox_agent.bridge.jsonrpc import routing_fields
from sandbox_agent.http.acp.stream_slots import StreamSlots
from sandbox_agent.http.acp_remote.http_connection import HttpConnection
from sandbox_agent.http.acp_remote.sse_receiver import SseReceiver
from tests.http.acp_remote.clock_loop import ClockLoop

HOLD_S = 2.0
SESSIONS = ("a", "b")
STREAMS = ("", *SESSIONS)
"""The connection stream has no session."""
METHODS = ("session/new", "session/load", "session/resume", "session/prompt")

streams = st.sampled_from(STREAMS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("publish"), st.lists(streams, min_size=1, max_size=4)),
        st.tuples(st.just("open"), streams),
        st.tuples(st.just("cut"), streams, st.integers(0, 3)),
        st.tuples(st.just("pause"), streams),
        st.tuples(st.just("resume"), streams),
        st.tuples(st.just("request"), st.sampled_from(METHODS), st.sampled_from(SESSIONS)),
        st.tuples(st.just("answer"), st.integers(0, 3)),
        st.tuples(st.just("wait"), st.sampled_from((0.5, 3.0))),
    ),
    max_size=40,
)


class ClientStream:
    """A response sink, and the client that reads it: some of what was written is lost with a cut."""

    def __init__(self) -> None:
        self.can_write = True
        self.written: list[bytes] = []
        self.ended = False
        self.writer: Any = None

    def start(self, status: int, headers: object) -> None:
        assert status == 200

    def write(self, data: bytes) -> None:
        self.write_pieces((data,))

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        self.written += [frame for frame in b"".join(pieces).split(b"\n\n") if frame]

    def end(self) -> None:
        self.ended = True

    def fail(self, error: Exception) -> None:
        raise error

    def attach(self, writer: Any, *, is_endless: bool = False) -> None:
        self.writer = writer


class Client:
    """All streams of one client, which resumes each after the last event that it has received."""

    def __init__(self, connection: HttpConnection) -> None:
        self._connection = connection
        self._services: Any = SimpleNamespace(streams=StreamSlots(9), heartbeat_s=1e9, stopping=False)
        self._open: dict[str, ClientStream] = {}
        self.received: dict[str, list[tuple[int, Any]]] = {name: [] for name in STREAMS}
        self._was_open: set[str] = set()

    def open(self, name: str) -> None:
        if name in self._open:
            return
        router = self._connection.router
        stream = router.session_stream(name) if name else router.connection
        after = self.received[name][-1][0] if self.received[name] else 0
        sink = ClientStream()
        self._open[name] = sink
        SseReceiver(
            sink,  # type: ignore[arg-type]
            self._services,
            self._connection,
            stream,
            after if name in self._was_open else None,
            [],
        )
        self._was_open.add(name)

    def cut(self, name: str, lost: int) -> None:
        sink = self._open.pop(name, None)
        if sink is not None:
            sink.writer.disconnected()
            for frame in sink.written[: max(0, len(sink.written) - lost)]:
                head, _, data = frame.partition(b"\ndata: ")
                self.received[name].append((int(head.removeprefix(b"id: ")), json.loads(data)))

    def pause(self, name: str) -> None:
        if name in self._open:
            self._open[name].can_write = False

    def resume(self, name: str) -> None:
        if name in self._open:
            self._open[name].can_write = True
            self._open[name].writer.resume()


class Agent:
    """Publishes numbered messages and answers requests."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.published: list[Any] = []
        self.asked: list[tuple[int, str, str]] = []

    def publish(self, sessions: Sequence[str]) -> None:
        messages = []
        for session in sessions:
            params = {"sessionId": session} if session else {}
            message = {"method": "session/update", "n": len(self.published), "params": params}
            self.published.append(message)
            messages.append(json.dumps(message).encode())
        self._log.publish(messages)

    def answer(self, index: int) -> None:
        if self.asked:
            number, method, session = self.asked.pop(index % len(self.asked))
            message = {"id": number, "result": {}, "n": len(self.published), "of": [method, session]}
            self.published.append(message)
            self._log.publish([json.dumps(message).encode()])


async def play(loop: ClockLoop, script: Sequence[tuple[Any, ...]]) -> tuple[Agent, Client]:
    log = EventLog(Retention(10_000))
    instance = Instance("c", "mock", log, InstanceLimits())
    connection = HttpConnection(instance, 1e9, lambda _: None, HOLD_S, 8)
    agent, client = Agent(log), Client(connection)
    requests = 0

    async def wait(seconds: float) -> None:
        loop.now += seconds
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    for action, *more in script:
        if action == "publish":
            agent.publish(more[0])
        elif action == "request":
            requests += 1
            method, session = more
            message = json.dumps({"id": requests, "method": method, "params": {"sessionId": session}})
            connection.router.request(routing_fields.read(message.encode()), session)
            agent.asked.append((requests, method, session))
        elif action == "answer":
            agent.answer(more[0])
        elif action == "wait":
            await wait(more[0])
        else:
            getattr(client, action)(*more)
    for name in STREAMS:
        client.resume(name)
        client.cut(name, 0)
        client.open(name)
    await wait(2 * HOLD_S)
    for name in STREAMS:
        client.cut(name, 0)
    connection.close()
    return agent, client


@pytest.mark.clause("remote-resume", "remote-hold", "remote-routing")
@settings(max_examples=300, deadline=None)
@given(steps)
def test_each_event_reaches_the_client_exactly_once(script: list[tuple[Any, ...]]) -> None:
    loop = ClockLoop()
    try:
        agent, client = loop.run_until_complete(play(loop, script))
    finally:
        loop.close()
    everywhere = [message for events in client.received.values() for _, message in events]
    assert sorted(message["n"] for message in everywhere) == list(range(len(agent.published)))
    for name, events in client.received.items():
        assert [number for number, _ in events] == list(range(1, len(events) + 1))
        for _, message in events:
            method, session = message.get("of", ("", message.get("params", {}).get("sessionId", "")))
            assert name in ("", session)
            assert not name or method not in ("session/new", "session/load")
        for session in STREAMS:
            updates = [
                m["n"] for _, m in events if "of" not in m and m["params"].get("sessionId", "") == session
            ]
            assert updates == sorted(updates)
