"""ACP's own remote transport over WebSocket, beside the server of the official TypeScript SDK.

The columns `ours` and `reference` are the two servers, with the same agent: the reference of the other cases
does not have this transport. Each connection has an agent of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench import process_usage
from bench.paths import CACHE, LOAD_CPU, ROOT, SERVER_CPU
from bench.plan import Plan
from bench.programs import path_of, run
from bench.results import report
from bench.results.measurements import Measurements
from bench.server_under_test import AGENT, TOKEN, ServerUnderTest

PACKAGES = ("@agentclientprotocol/sdk@2.4.0", "ws@8.23.0", "zod@4.6.7")
CONNECTIONS = (1, 8)


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    for connections in CONNECTIONS:
        for name, pid, where in _both(tested):
            options = {**where, "connections": connections, "bytes": 200}
            before = process_usage.cpu_seconds(pid)
            figures = run("ws_load", ms=plan.request_ms, warmup_ms=plan.warmup_ms, **options)
            spent = process_usage.cpu_seconds(pid) - before
            measurements.count_requests(name, figures)
            case = f"websocket x{connections}"
            measurements.add(f"{case} throughput", name, figures["per_second"])
            measurements.add(f"{case} p50", name, figures["p50_us"])
            measurements.add(f"{case} cpu", name, spent * 1e6 / max(1, figures["answered"]))
        yield
        for name, pid, where in _both(tested):
            options = {**where, "connections": connections, "bytes": 200}
            before = process_usage.cpu_seconds(pid)
            figures = run("ws_load", flood=plan.websocket_events // connections, **options)
            spent = process_usage.cpu_seconds(pid) - before
            measurements.count_events(name, figures)
            case = f"websocket stream x{connections}"
            measurements.add(f"{case} events", name, figures["events_per_second"])
            measurements.add(f"{case} cpu", name, spent * 1e6 / max(1, figures["delivered"]))
        yield


def _both(tested: ServerUnderTest) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Each server while it runs: its name, its process and where it is reached."""
    with tested.running() as server:
        yield report.OURS, server.pid, {"port": server.port, "path": f"/acp/{AGENT}", "token": TOKEN}
    with _typescript_server() as (pid, port):
        yield report.REFERENCE, pid, {"port": port, "path": "/acp"}


@contextmanager
def _typescript_server() -> Iterator[tuple[int, int]]:
    """The process and the port of the SDK's server, which ends when its standard input does."""
    agent = json.dumps([str(path_of("echo_agent")), "--cpu", str(LOAD_CPU)])
    process = subprocess.Popen(
        [shutil.which("node") or "node", str(ROOT / "bench" / "clients" / "acp_server.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PACKAGES": str(_packages()), "AGENT": agent},
        preexec_fn=lambda: os.sched_setaffinity(0, {SERVER_CPU}),
    )
    try:
        if process.stdin is None or process.stdout is None:
            raise RuntimeError("no pipes")
        yield process.pid, int(process.stdout.readline())
        process.stdin.close()
        process.wait(10)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _packages() -> str:
    home = CACHE / "remote-clients"
    if not (home / "node_modules" / "@agentclientprotocol").is_dir():
        command = ["npm", "install", "--prefix", str(home), "--no-audit", "--no-fund", *PACKAGES]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
    return str(home / "node_modules")
