"""The Python SDK beside the published TypeScript SDK, both on our server.

The columns `ours` and `reference` are the two SDKs. The clients run on the load processor with the agents;
what they report is the CPU time of their own process.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.sdk.stores.postgres_server import find_binaries, running_postgres

from bench.paths import CACHE, LOAD_CPU, ROOT
from bench.plan import Plan
from bench.results import report
from bench.results.measurements import Measurements
from bench.server_under_test import TOKEN, RunningServer, ServerUnderTest

TYPESCRIPT_SDK = "sandbox-agent@0.4.2"
CLIENT_LIMIT_S = 900
NETWORK_MS = 1


def measure(tested: ServerUnderTest, plan: Plan, measurements: Measurements) -> Iterator[None]:
    clients = Clients(tested, measurements)
    # The limit of instances is below the number of sessions of the largest case.
    server = replace(tested, agent="session_agent", flags=(*tested.flags, "--max-instances", "2000"))
    with ExitStack() as stack:
        postgres = stack.enter_context(_postgres())
        for case in (_turns, _stores, _sessions, _cut, _history):
            with server.running() as running:
                case(clients, running, plan, postgres)
            yield


class Clients:
    """Runs client programs and keeps what they report."""

    def __init__(
        self, tested: ServerUnderTest, measurements: Measurements, *, typescript: bool = True
    ) -> None:
        self._measurements = measurements
        python = Path(str(tested.command[0])).parent / "python"
        self.python = str(python) if python.exists() else sys.executable
        self._packages = typescript_sdk() if typescript else None

    def ours(self, server: RunningServer, program: str, case: str, count: int, **options: str) -> Any:
        url = options.pop("url", f"http://127.0.0.1:{server.port}")
        command = [self.python, "-m", f"bench.clients.{program}", case, "--url", url, "--token", TOKEN]
        command += ["--directory", str(server.directory), "--count", str(count)]
        for name, value in options.items():
            command += [f"--{name}", value]
        return self._run(command, {})

    def typescript(self, server: RunningServer, case: str, count: int) -> Any:
        environment = {
            "BASE_URL": f"http://127.0.0.1:{server.port}",
            "TOKEN": TOKEN,
            "PACKAGES": str(self._packages),
            "DIRECTORY": str(server.directory),
            "COUNT": str(count),
        }
        program = ROOT / "bench" / "clients" / "typescript.mjs"
        return self._run([shutil.which("node") or "node", str(program), case], environment)

    def add(self, figure: str, ours: float, reference: float | None = None) -> None:
        self._measurements.add(figure, report.OURS, ours)
        if reference is not None:
            self._measurements.add(figure, report.REFERENCE, reference)

    def count(self, client: str, checked: int, lost: int) -> None:
        account = self._measurements.integrity[client]
        account.checked += checked
        account.lost += lost

    @staticmethod
    def _run(command: list[str], environment: dict[str, str]) -> Any:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            timeout=CLIENT_LIMIT_S,
            check=True,
            preexec_fn=lambda: os.sched_setaffinity(0, {LOAD_CPU}),
        )
        return json.loads(done.stdout.splitlines()[-1])


def _turns(clients: Clients, server: RunningServer, plan: Plan, postgres: str | None) -> None:
    count = plan.sdk_chunks
    reference = clients.typescript(server, "turn", count)
    clients.count("TypeScript SDK", count, reference["missing"])
    stores = [("memory", "memory"), ("sqlite", "sqlite"), *([("postgres", postgres)] if postgres else [])]
    for name, store in stores:
        ours = clients.ours(server, "turn", "turn", count, store=store)
        clients.count("Python SDK", count, ours["missing"])
        clients.add(f"sdk turn {name}", ours["cpu_us"], reference["cpu_us"])
        if name == "memory":
            sync = clients.ours(server, "turn", "turn-sync", count)
            clients.count("Python SDK", count, sync["missing"])
            clients.add("sdk turn sync", sync["cpu_us"])
            clients.add("sdk turn sync to async", sync["cpu_us"] / ours["cpu_us"])


def _stores(clients: Clients, server: RunningServer, plan: Plan, postgres: str | None) -> None:
    if postgres is None:
        return
    near = clients.ours(server, "turn", "turns", plan.sdk_chunks_each, store=postgres)
    parameters = dict(part.split("=", 1) for part in postgres.split())
    with _proxy(f"{parameters['host']}/.s.PGSQL.5432", delay_ms=NETWORK_MS) as (port, _):
        distant = f"host=127.0.0.1 port={port} user={parameters['user']} dbname={parameters['dbname']}"
        far = clients.ours(server, "turn", "turns", plan.sdk_chunks_each, store=distant)
    clients.add("sdk postgres 100 sessions", near["wall_s"])
    clients.add("sdk postgres network to loopback", far["wall_s"] / near["wall_s"])


def _sessions(clients: Clients, server: RunningServer, plan: Plan, postgres: str | None) -> None:
    each = []
    for count in plan.sdk_sessions:
        figures = clients.ours(server, "sessions", "create", count)
        each.append(figures["create_ms"])
        clients.add(f"sdk create {count}", figures["create_ms"])
    clients.add("sdk create growth", each[-1] / each[0])
    clients.add("sdk sessions memory", figures["resident_mb"])


def _cut(clients: Clients, server: RunningServer, plan: Plan, postgres: str | None) -> None:
    with _proxy(str(server.port)) as (port, pid):
        url = f"http://127.0.0.1:{port}"
        figures = clients.ours(server, "sessions", "cut", plan.sdk_waiting, url=url, cutter=str(pid))
    clients.count("Python SDK", plan.sdk_waiting, figures["lost"])
    clients.add("sdk waiting after cut", figures["after_ms_per_s"])


def _history(clients: Clients, server: RunningServer, plan: Plan, postgres: str | None) -> None:
    figures = clients.ours(server, "history", "history", plan.sdk_messages, store="sqlite")
    clients.add("sdk resume", figures["resume_cpu_s"])
    clients.add("sdk follow", figures["follow_cpu_s"])
    clients.add("sdk longest block", figures["block_ms"])


def typescript_sdk() -> Path:
    """The node_modules directory with the published SDK, fetched once."""
    modules = CACHE / "bench-typescript" / "node_modules"
    if not (modules / "sandbox-agent" / "dist").is_dir():
        npm = [
            shutil.which("npm") or "npm",
            "install",
            "--prefix",
            str(modules.parent),
            "--no-audit",
            "--no-fund",
        ]
        subprocess.run([*npm, TYPESCRIPT_SDK], check=True, timeout=300, stdout=subprocess.DEVNULL)
    return modules


@contextmanager
def _postgres() -> Iterator[str | None]:
    """The connection string of a Postgres server; None where Postgres is not installed."""
    binaries = find_binaries()
    if binaries is None:
        yield None
        return
    with running_postgres(binaries) as dsn:
        yield dsn


@contextmanager
def _proxy(target: str, *, delay_ms: float = 0) -> Iterator[tuple[int, int]]:
    """A running proxy: its port and its process."""
    command = [sys.executable, "-m", "bench.proxy", target, "--delay-ms", str(delay_ms)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        yield int(process.stdout.readline()), process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
