"""One chaos run: the server, and a record of its instances, requests, floods and children.

Faults act through a `ChaosRun`; `invariants` checks the record after each of them. All random choices come
from one seeded generator, so a seed replays the same order of faults.
"""

from __future__ import annotations

import random
import signal
from collections import Counter
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.clients.acp import AGENT, Acp, message
from tests.support.clients.raw_http import Answer, Connection
from tests.support.server_process import ServerProcess

MIB = 1 << 20
LINE_LIMIT = 4 * MIB
ARGUMENTS = [
    *("--replay-max-events", "512", "--replay-max-bytes", str(MIB), "--spill-max-bytes", str(64 * MIB)),
    *("--acp-max-line-bytes", str(LINE_LIMIT), "--acp-heartbeat-ms", "1000", "--request-timeout-ms", "2000"),
    *("--max-instances", "12", "--max-streams", "64"),
]
# Above any number of ticks in one flood: a flood's ticks are base * FLOOD + 1, 2, 3, ...
FLOOD = 1_000_000


@dataclass
class ReadLog:
    """What has been read of one server_id's log."""

    position: int = 0
    may_gap: bool = False
    """Whether events may have been lost since the last check: instance closed, or disk full."""
    answers: Counter[str] = field(default_factory=Counter)
    """How often each request id was answered on the stream."""
    answered: set[str] = field(default_factory=set)
    """Requests that were answered in their POST and must be on the stream too."""
    ticks: Counter[int] = field(default_factory=Counter)
    last_tick: int = 0
    floods: dict[int, int] = field(default_factory=dict)
    """Ticks promised by each finished flood, by its base."""


@dataclass
class PostedRequest:
    server_id: str
    request_id: str
    future: Future[Answer]


class ChaosRun:
    def __init__(self, directory: Path, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - to be replayed, not to be secret
        self.directory = directory
        self.requests = 0
        self.open_connections: list[Connection] = []
        self.slow_requests: list[Future[None]] = []
        """Requests that the client never finishes sending."""
        self.limits_touched = False
        self._begin()

    def _begin(self) -> None:
        self.server = ServerProcess(self.directory, arguments=ARGUMENTS, isolated=True)
        self.server.ready(30)
        self.logs: dict[str, ReadLog] = {}
        self.asked: list[PostedRequest] = []
        self.must_end: list[dict[str, int]] = []
        self.children: dict[str, list[dict[str, int]]] = {}

    @property
    def acp(self) -> Acp:
        return self.server.acp

    @property
    def spill(self) -> Path:
        return self.server.data_home / "sandbox-agent" / "spill"

    # ---- instances ---------------------------------------------------------------------------------------

    def instance(self) -> str:
        """An instance with a living agent: an old one, or a new one under a new or a closed id."""
        server_id = self.random.choice(["s0", "s1", "s2", "s3"])
        answer = self.ask(server_id, "test/echo", agent=AGENT).future.result(30)
        if answer.status != 200:  # The agent lives but does not answer: close it.
            self.close(server_id)
            answer = self.ask(server_id, "test/echo", agent=AGENT).future.result(30)
        assert answer.status == 200, (answer.status, answer.body[:500])
        return server_id

    def read_log(self, server_id: str) -> ReadLog:
        return self.logs.setdefault(server_id, ReadLog())

    def close(self, server_id: str) -> None:
        self.read_log(server_id).may_gap = True
        answer = self.acp.delete(server_id, timeout=15)
        assert answer.status == 204, answer.body
        self.agent_ended(server_id)

    def agent_ended(self, server_id: str) -> None:
        """Processes that the agent had started must end now."""
        self.must_end += self.children.pop(server_id, [])

    # ---- requests ----------------------------------------------------------------------------------------

    def ask(
        self, server_id: str, method: str, params: Any = None, *, wait_s: int = 3, agent: str | None = None
    ) -> PostedRequest:
        """Post a request under a new id; the invariants check its outcome."""
        self.requests += 1
        request_id = f"q{self.requests}"
        body = message(method, params, request_id)
        future = self.acp.in_background(
            self.acp.post, server_id, body, agent=agent, headers={"prefer": f"wait={wait_s}"}, timeout=30
        )
        asked = PostedRequest(server_id, request_id, future)
        self.read_log(server_id)
        self.asked.append(asked)
        return asked

    def call(self, server_id: str, method: str, params: Any = None) -> Any:
        """The result of a request, or None if the agent could not answer."""
        answer = self.ask(server_id, method, params).future.result(30)
        return answer.json().get("result") if answer.status == 200 else None

    # ---- restarts ----------------------------------------------------------------------------------------

    def restart(self, number: signal.Signals) -> int:
        """End the server by a signal and start another one on the same directories; returns the exit code."""
        for connection in self.open_connections:
            connection.close()
        self.open_connections.clear()
        old = self.server
        old.signal(number)
        code = old.wait_for_exit(10)
        must_end = [*self.must_end, *(one for children in self.children.values() for one in children)]
        old.acp.close()
        self.ended_server = old
        self._begin()
        self.must_end = must_end
        return code
