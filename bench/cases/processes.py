"""Processes and terminals: a short run, the echo of a key, a large output to one reader, idle processes.

The programs of the processes run on the load processor and do not count as part of the server.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from contextlib import closing
from statistics import median
from typing import Any

from bench import process_usage
from bench.clients.terminal import TerminalConnection
from bench.paths import LOAD_CPU
from bench.plan import MB, Plan
from bench.programs import path_of
from bench.results.measurements import Measurements
from bench.server_under_test import TOKEN, RunningServer, ServerUnderTest

WARM_UP = 10
SETTLE_S = 0.5
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
# The terminal does not change the bytes, and echoes nothing by itself.
RAW = "stty raw -echo; echo ready; "


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    with tested.running() as server, _connected(server) as api:
        _runs(api, server, plan, measurements)
    yield
    with tested.running() as server, _connected(server) as api:
        _echo(api, server, plan, measurements)
    yield
    with tested.running() as server, _connected(server) as api:
        _output(api, server, plan, measurements)
    yield
    with tested.running() as server, _connected(server) as api:
        for figure, tty in (("process memory", False), ("terminal memory", True)):
            _idle(api, server, plan, measurements, figure, tty=tty)
    yield


def _connected(server: RunningServer) -> closing[http.client.HTTPConnection]:
    return closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=60))


def _post(api: http.client.HTTPConnection, path: str, body: dict[str, Any]) -> dict[str, Any]:
    api.request("POST", f"/v1/processes{path}", json.dumps(body), HEADERS)
    answer = api.getresponse()
    text = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {text[:400]!r}")
    decoded: dict[str, Any] = json.loads(text)
    return decoded


def _create(api: http.client.HTTPConnection, command: str, *args: str, tty: bool) -> str:
    pinned = ["-c", str(LOAD_CPU), command, *args]
    created: str = _post(api, "", {"command": "taskset", "args": pinned, "tty": tty})["id"]
    return created


def _runs(
    api: http.client.HTTPConnection, server: RunningServer, plan: Plan, measurements: Measurements
) -> None:
    """Run `echo` again and again, one after the other."""
    times, before = [], 0.0
    for number in range(-WARM_UP, plan.process_runs):
        if number == 0:
            before = process_usage.cpu_seconds(server.pid)
        begun = time.perf_counter()
        answer = _post(api, "/run", {"command": "/bin/echo", "args": [str(number)]})
        times.append((time.perf_counter() - begun) * 1000)
        measurements.integrity[server.name].checked += 1
        measurements.integrity[server.name].altered += answer["stdout"] != f"{number}\n"
    spent = process_usage.cpu_seconds(server.pid) - before
    measurements.add("process run", server.name, median(times[WARM_UP:]))
    measurements.add("process run cpu", server.name, spent * 1e3 / plan.process_runs)


def _echo(
    api: http.client.HTTPConnection, server: RunningServer, plan: Plan, measurements: Measurements
) -> None:
    """Type a key, and wait until the terminal shows it."""
    process = _create(api, "sh", "-c", RAW + "exec cat", tty=True)
    times, before = [], 0.0
    with TerminalConnection(server.port, TOKEN, process) as terminal:
        terminal.type("\n")  # The reference sends nothing from before the connection.
        terminal.wait_for(b"\n")
        for number in range(-WARM_UP, plan.process_echoes):
            if number == 0:
                before = process_usage.cpu_seconds(server.pid)
            key = chr(ord("a") + number % 26)
            begun = time.perf_counter()
            terminal.type(key)
            terminal.wait_for(key.encode())
            times.append((time.perf_counter() - begun) * 1e6)
            measurements.integrity[server.name].checked += 1
    spent = process_usage.cpu_seconds(server.pid) - before
    measurements.add("terminal echo p50", server.name, median(times[WARM_UP:]))
    measurements.add("terminal echo cpu", server.name, spent * 1e6 / plan.process_echoes)


def _output(
    api: http.client.HTTPConnection, server: RunningServer, plan: Plan, measurements: Measurements
) -> None:
    """One large output in a terminal to a reader that reads all the time."""
    wanted, got = plan.process_output_mb * MB, 0
    script = f"{RAW}read line; exec head -c {wanted} /dev/zero"
    process = _create(api, "sh", "-c", script, tty=True)
    with TerminalConnection(server.port, TOKEN, process) as terminal:
        time.sleep(SETTLE_S)  # The terminal is raw by then; the reference does not show it.
        before, begun = process_usage.cpu_seconds(server.pid), time.perf_counter()
        terminal.type("\n")
        while data := terminal.output():
            got += data.count(0)
        elapsed = time.perf_counter() - begun
        spent = process_usage.cpu_seconds(server.pid) - before
    measurements.add("terminal output", server.name, got / MB / elapsed)
    measurements.add("terminal output cpu", server.name, spent * 1e3 / max(1, got / MB))
    measurements.add("terminal output lost", server.name, 1 - got / wanted)


def _idle(
    api: http.client.HTTPConnection,
    server: RunningServer,
    plan: Plan,
    measurements: Measurements,
    figure: str,
    *,
    tty: bool,
) -> None:
    """Memory of the server for each further process that does nothing."""
    agent = str(path_of("echo_agent"))
    _create(api, agent, tty=tty)  # The first one starts what all share.
    time.sleep(SETTLE_S)
    before = process_usage.memory(server.pid).resident_kb
    for _ in range(plan.idle_processes):
        _create(api, agent, tty=tty)
    time.sleep(SETTLE_S)
    grown = process_usage.memory(server.pid).resident_kb - before
    measurements.add(figure, server.name, grown / plan.idle_processes)
