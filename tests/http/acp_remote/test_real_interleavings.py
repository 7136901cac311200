"""Any order of messages, requests, cut POSTs and streams against a real server: each message comes once."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from tests.fuzz.effort import fuzz
from tests.support.clients.event_stream import EventStream
from tests.support.clients.remote_acp import RemoteConnection, encode
from tests.support.polling import wait_until
from tests.support.server_process import HttpServer, ServerProcess

pytestmark = pytest.mark.process

HOLD_MS = "100"
BOUND_S = 20.0
SESSIONS = ("a", "b")
STREAMS = ("", *SESSIONS)
"""The connection stream has no session."""
# A failing example is not made smaller: each attempt would wait for messages that do not come.
SAMPLED = fuzz(small=12, full=400, seconds=90, phases=[Phase.generate])
RESET = struct.pack("ii", 1, 0)

streams = st.sampled_from(STREAMS)
steps = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.lists(streams, min_size=1, max_size=30), st.booleans()),
        st.tuples(st.just("lose"), st.lists(streams, min_size=1, max_size=30), streams, st.integers(0, 5)),
        st.tuples(st.just("ask"), streams),
        st.tuples(st.just("cut_post"), streams, st.floats(0, 0.99)),
        st.tuples(st.just("open"), streams),
        st.tuples(st.just("read"), streams, st.integers(1, 5)),
        st.tuples(st.just("cut"), streams, st.booleans()),
        st.tuples(st.just("wait"), st.sampled_from((0.01, 0.15))),
    ),
    min_size=5,
    max_size=25,
)


@pytest.fixture(scope="module", params=list(HttpServer), ids=lambda server: server.value)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServerProcess]:
    process = ServerProcess(
        tmp_path_factory.mktemp("server"),
        settings={"SANDBOX_AGENT_ACP_HOLD_MS": HOLD_MS},
        http_server=request.param,
    )
    with process:
        yield process


class Player:
    """A client that plays the steps, and what it has received on each stream."""

    def __init__(self, server: ServerProcess) -> None:
        self.connection = RemoteConnection(server.client)
        self._client, self._server = server.client, server
        self._open: dict[str, EventStream] = {}
        self.sent: list[int] = []
        self.asked: list[int] = []
        self.received: dict[str, list[tuple[int, dict[str, Any]]]] = {name: [] for name in STREAMS}
        self._numbers = 0

    def _message(self, session: str) -> bytes:
        self._numbers += 1
        named = {"sessionId": session} if session else {}
        return encode("session/update", params={**named, "n": self._numbers})

    def write(self, sessions: Sequence[str], settles: bool) -> None:
        """Let the agent write messages, and maybe wait until the server has them."""
        lines = [self._message(session) for session in sessions]
        self.sent += range(self._numbers - len(lines) + 1, self._numbers + 1)
        self.connection.write(*lines)
        if settles:
            wait_until(lambda: self._published() >= len(self.sent), BOUND_S, "what the agent wrote")

    def _published(self) -> int:
        entry = self._server.acp.entry(self.connection.id)
        assert entry is not None
        return int(entry["lastEventId"]) - 1  # the first one is the answer to `initialize`

    def lose(self, sessions: Sequence[str], name: str, count: int) -> None:
        """A stream is cut when the server has sent more than the client has received."""
        self.open(name)
        self.write(sessions, settles=True)
        self.read(name, count)
        self.cut(name, reset=False)

    def ask(self, session: str) -> None:
        self.asked.append(self.connection.request("test/echo", session or None))

    def cut_post(self, session: str, share: float) -> None:
        """A POST that breaks before its end is no message."""
        line = self._message(session) + b"\n"
        body = encode("test/write", params={"hex": line.hex(), "answer": False})
        headers = {"content-type": "application/json", **self.connection.headers()}
        request = self._client.build("POST", self.connection.path, headers=headers, body=body)
        with self._client.connect() as half:
            half.send(request[: int(len(request) * share)])

    def open(self, name: str) -> None:
        if name not in self._open:
            before = self.received[name]
            last = before[-1][0] if before else 0
            self._open[name] = self.connection.stream(name or None, last_event_id=last)

    def read(self, name: str, count: int, limit_s: float = 0.02) -> None:
        """Receive up to `count` messages, as far as they come in time."""
        if name not in self._open:
            return
        try:
            for _ in range(count):
                event = self._open[name].next_message(limit_s)
                assert event.number is not None
                self.received[name].append((event.number, event.json()))
        except TimeoutError:
            pass

    def cut(self, name: str, reset: bool) -> None:
        """What was sent and is not read is lost with the connection."""
        stream = self._open.pop(name, None)
        if stream is not None:
            if reset:
                stream.connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            stream.close()

    def wait(self, seconds: float) -> None:
        time.sleep(seconds)  # shorter and longer than the hold

    def finish(self) -> None:
        """Open what is not open, and receive until everything has come."""
        wanted = len(self.sent) + len(self.asked)
        for name in STREAMS:
            self.open(name)
        deadline = time.monotonic() + BOUND_S
        while sum(map(len, self.received.values())) < wanted and time.monotonic() < deadline:
            for name in STREAMS:
                self.read(name, wanted)
        for name in STREAMS:
            self.read(name, 1, 0.1)  # nothing comes twice
            self.cut(name, reset=False)
        self.connection.delete()


@pytest.mark.timeout(900)  # 400 examples of a full run take five minutes
@pytest.mark.clause("remote-resume", "remote-hold", "remote-routing")
def test_each_message_comes_once_and_in_order(server: ServerProcess) -> None:
    @SAMPLED
    @given(steps)
    def play(script: list[tuple[Any, ...]]) -> None:
        player = Player(server)
        for action, *more in script:
            getattr(player, action)(*more)
        player.finish()
        check(player)

    play()


def check(player: Player) -> None:
    events = {name: [message for _, message in got] for name, got in player.received.items()}
    for got in player.received.values():
        assert [number for number, _ in got] == list(range(1, len(got) + 1))
    everything = [message for messages in events.values() for message in messages]
    updates = [message["params"]["n"] for message in everything if "method" in message]
    assert sorted(updates) == player.sent
    assert sorted(message["id"] for message in everything if "method" not in message) == player.asked
    for name, messages in events.items():
        for session in STREAMS:
            numbers = [
                message["params"]["n"]
                for message in messages
                if "method" in message and message["params"].get("sessionId", "") == session
            ]
            assert numbers == sorted(numbers)
            assert not numbers or name in ("", session)
