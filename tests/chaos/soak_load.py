"""The operations of the soak: ordinary use and faults. Each operation checks its answers."""

from __future__ import annotations

import json
import os
import random
import signal
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.support.clients.acp import AGENT, Acp
from tests.support.server_process import ServerProcess

Operation = Callable[["Worker"], None]


class Worker:
    """One client: runs operations in random order, on its own instances and on one shared instance."""

    def __init__(self, server: ServerProcess, number: int) -> None:
        self.acp: Acp = server.acp
        self.client = server.client
        self.name = f"worker-{number}"
        self.random = random.Random(number)  # noqa: S311 - a mixed load, no secrets
        self.done: Counter[str] = Counter()
        self.instances = 0

    def step(self) -> None:
        operation = self.random.choices(OPERATIONS, WEIGHTS)[0]
        operation(self)
        self.done[operation.__name__] += 1

    def new_id(self) -> str:
        self.instances += 1
        return f"{self.name}-{self.instances}"


def turn(worker: Worker) -> None:
    worker.acp.call("shared", "test/flood", {"count": 30, "size": 300}, agent=AGENT, timeout=60)


def instance_lifecycle(worker: Worker) -> None:
    server_id = worker.new_id()
    worker.acp.call(server_id, "test/echo", agent=AGENT, timeout=60)
    with worker.acp.stream(server_id, timeout=60) as stream:
        worker.acp.call(server_id, "test/flood", {"count": 200, "size": 500}, timeout=60)
        numbers = [event.number for event in stream.take(202, timeout=60)]
    assert numbers == list(range(1, 203))
    assert worker.acp.delete(server_id, timeout=60).status == 204


def crash_and_restart(worker: Worker) -> None:
    server_id = worker.new_id()
    worker.acp.call(server_id, "test/double_fork_clean_env", agent=AGENT, timeout=60)
    assert worker.acp.send(server_id, "test/exit", {"code": 1}, timeout=60).status == 502
    worker.acp.call(server_id, "test/echo", agent=AGENT, timeout=60)
    assert worker.acp.delete(server_id, timeout=60).status == 204


def killed_agent(worker: Worker) -> None:
    server_id = worker.new_id()
    pid = worker.acp.call(server_id, "test/info", agent=AGENT, timeout=60)["pid"]
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    assert worker.acp.delete(server_id, timeout=60).status == 204


def reader_that_reconnects(worker: Worker) -> None:
    row = worker.acp.entry("shared")
    if row is not None and row["lastEventId"] > 50:
        with worker.acp.stream("shared", row["lastEventId"] - 50, timeout=60) as stream:
            numbers = [event.number for event in stream.take(50, timeout=60)]
            assert numbers == list(range(row["lastEventId"] - 49, row["lastEventId"] + 1))


def client_that_disconnects(worker: Worker) -> None:
    connection = worker.client.connect(60)
    connection.send(worker.client.build("GET", "/v1/acp/shared"))
    connection.close()


def file_upload_and_download(worker: Worker) -> None:
    content = worker.random.randbytes(worker.random.randint(1, 200_000))
    path = f"/v1/fs/file?path={worker.name}"
    assert worker.client.request("PUT", path, body=content, timeout=60).status == 200
    assert worker.client.get(path, timeout=60).body == content


def config_entry(worker: Worker) -> None:
    body = json.dumps({"type": "local", "command": ["true"]}).encode()
    path = f"/v1/config/mcp?directory=.&mcpName={worker.name}"
    headers = {"content-type": "application/json"}
    assert worker.client.request("PUT", path, headers=headers, body=body, timeout=60).status == 204


def listings(worker: Worker) -> None:
    for path in ("/v1/acp", "/v1/agents", "/v1/fs/entries", "/openapi.json"):
        assert worker.client.get(path, timeout=60).status == 200


def invalid_requests(worker: Worker) -> None:
    assert worker.acp.post("shared", b"{", timeout=60).status == 400
    assert worker.client.get("/v1/health", authorized=False, timeout=60).status == 401
    assert worker.acp.send("never-seen", "x", timeout=60).status == 400


_SHARES: dict[Any, int] = {
    turn: 30,
    instance_lifecycle: 10,
    crash_and_restart: 3,
    killed_agent: 3,
    reader_that_reconnects: 15,
    client_that_disconnects: 5,
    file_upload_and_download: 10,
    config_entry: 5,
    listings: 5,
    invalid_requests: 5,
}
OPERATIONS: list[Operation] = list(_SHARES)
WEIGHTS = list(_SHARES.values())
