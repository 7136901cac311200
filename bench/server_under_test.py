"""A server under test: how it is started, reached and stopped.

`ServerUnderTest` is a command with its environment. `running()` starts it on a free loopback port with a
fresh data directory, pinned to the server's processor, and stops it by pid afterwards. Agents pin themselves
to the load processor. The agent is a program of `bench/c` behind the launcher file of `mock`, which both
servers resolve alike.
"""

from __future__ import annotations

import http.client
import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import process_usage
from bench.paths import LOAD_CPU, SERVER_CPU
from bench.programs import AGENT_PROGRAMS, path_of, result_of, run, start

TOKEN = "bench-0123456789abcdef0123456789abcdef"  # noqa: S105 - guards a loopback server for a few seconds
AGENT = "mock"
START_LIMIT = 15.0
FIRST_REQUEST = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"data":"x"}}'


@dataclass(frozen=True)
class ServerUnderTest:
    name: str
    command: tuple[str | Path, ...]
    environment: dict[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    agent: str | None = "echo_agent"
    """The program of `bench/c` that runs as agent; None for the built-in mock."""

    @contextmanager
    def running(self) -> Iterator[RunningServer]:
        with self.prepared() as server:
            server.launch()
            server.wait_until_healthy()
            yield server

    @contextmanager
    def prepared(self) -> Iterator[RunningServer]:
        """A server with its directory and port that is not started yet."""
        directory = Path(tempfile.mkdtemp(prefix="bench-"))
        server = RunningServer(self, directory, _free_port())
        try:
            launchers = directory / "data" / "sandbox-agent" / "bin" / "agent_processes"
            if self.agent is not None:
                _write_launcher(launchers / f"{AGENT}-acp", self.agent)
            yield server
        finally:
            server.stop()
            shutil.rmtree(directory, ignore_errors=True)


class RunningServer:
    def __init__(self, tested: ServerUnderTest, directory: Path, port: int) -> None:
        self.tested = tested
        self.name = tested.name
        self.directory = directory
        self.port = port
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self.process is not None  # noqa: S101 - only asked of a launched server
        return self.process.pid

    def launch(self) -> None:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory),
            "XDG_DATA_HOME": str(self.directory / "data"),
            **self.tested.environment,
        }
        address = ["--host", "127.0.0.1", "--port", str(self.port), "--token", TOKEN]
        with (self.directory / "output").open("wb") as output:
            self.process = subprocess.Popen(
                [*map(str, self.tested.command), "server", *address, *self.tested.flags],
                cwd=self.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_to_server_cpu,
            )

    def wait_until_healthy(self) -> None:
        self._first_answer(b"GET /v1/health HTTP/1.1\r\n" + self._common_headers() + b"\r\n")

    def first_acp_answer(self, server_id: str = "first") -> None:
        self._first_answer(
            f"POST /v1/acp/{server_id}?agent={AGENT} HTTP/1.1\r\n".encode()
            + self._common_headers()
            + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(FIRST_REQUEST)
            + FIRST_REQUEST
        )

    def _common_headers(self) -> bytes:
        return f"Host: 127.0.0.1:{self.port}\r\nAuthorization: Bearer {TOKEN}\r\n".encode()

    def _first_answer(self, request: bytes) -> None:
        """Connect (every half millisecond until it works), send the request and wait for a 200."""
        deadline = time.monotonic() + START_LIMIT
        while True:
            with socket.socket() as connection:
                connection.settimeout(START_LIMIT)
                try:
                    connection.connect(("127.0.0.1", self.port))
                except ConnectionRefusedError:
                    self._check_alive(deadline)
                    time.sleep(0.0005)
                    continue
                connection.sendall(request)
                answer = connection.recv(4096)
            if not answer.startswith(b"HTTP/1.1 200"):
                raise RuntimeError(f"{self.name} answered {answer[:400]!r}")
            return

    def _check_alive(self, deadline: float) -> None:
        ended = self.process is not None and self.process.poll() is not None
        if ended or time.monotonic() > deadline:
            output = (self.directory / "output").read_text(errors="replace")[-2000:]
            raise RuntimeError(f"{self.name} did not start: {output}")

    def add_instances(self, server_ids: list[str]) -> None:
        """Start one agent per id with a small echo request."""
        headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            for server_id in server_ids:
                connection.request("POST", f"/v1/acp/{server_id}?agent={AGENT}", FIRST_REQUEST, headers)
                answer = connection.getresponse()
                body = answer.read()
                if answer.status != 200 or json.loads(body).get("result") != {"data": "x"}:
                    raise RuntimeError(f"{self.name}: no agent: {answer.status} {body[:400]!r}")

    def load(self, **options: object) -> dict[str, Any]:
        return run("http_load", port=self.port, token=TOKEN, **options)

    def read_stream(self, **options: object) -> dict[str, Any]:
        return result_of(self.start_read_stream(**options))

    def start_read_stream(self, **options: object) -> subprocess.Popen[bytes]:
        return start("sse_readers", port=self.port, token=TOKEN, **options)

    def read_stream_with_cpu(self, **options: object) -> dict[str, Any]:
        before = process_usage.cpu_seconds(self.pid)
        figures = self.read_stream(**options)
        spent = process_usage.cpu_seconds(self.pid) - before
        figures["cpu_us"] = spent * 1e6 / max(1, figures["delivered"])
        return figures

    def load_with_cpu(self, *, warmup_ms: int, ms: int, **options: object) -> dict[str, Any]:
        """The load after a warm-up, with the CPU time per request."""
        self.load(ms=warmup_ms, **options)
        before = process_usage.cpu_seconds(self.pid)
        figures = self.load(ms=ms, **options)
        spent = process_usage.cpu_seconds(self.pid) - before
        figures["cpu_us"] = spent * 1e6 / max(1, figures["answered"])
        return figures

    def stop(self) -> None:
        """SIGTERM, then SIGKILL. Agents that the server leaves behind are killed by pid."""
        if self.process is None:
            return
        agents = _agents_below(self.pid)
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        for pid in agents:
            if _is_agent(pid):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    continue
        self.process = None


def _agents_below(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [int(child) for child in task.read_text().split()]
        except OSError:
            continue
    return [child for child in found if _is_agent(child)]


def _is_agent(pid: int) -> bool:
    try:
        return os.readlink(f"/proc/{pid}/exe") in AGENT_PROGRAMS
    except OSError:
        return False


def _write_launcher(launcher: Path, agent: str) -> None:
    launcher.parent.mkdir(parents=True)
    launcher.write_text(f"#!/bin/sh\nexec '{path_of(agent)}' --cpu {LOAD_CPU}\n")
    launcher.chmod(0o755)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _to_server_cpu() -> None:
    os.sched_setaffinity(0, {SERVER_CPU})
    # Hundreds of agents need three pipes each, which is more than the usual limit of 1024 descriptors.
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 20000), hard))
