"""Run an installed program outside the checkout, with a minimal environment."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.processes import wait_until
from tests.support.server_process import free_port

LIMIT_S = 120


class Program:
    def __init__(self, command: list[str], home: Path) -> None:
        self.command, self.home = command, home
        home.mkdir(parents=True, exist_ok=True)
        self.environment = {"HOME": str(home), "PATH": "/usr/bin:/bin", "TMPDIR": str(home.parent / "tmp")}
        (home.parent / "tmp").mkdir(exist_ok=True)

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self.command, *words],
            env=self.environment,
            cwd=self.home,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )

    @contextmanager
    def server(self) -> Iterator[str]:
        """A running server without a token; yields its address."""
        port = free_port()
        process = subprocess.Popen(
            [*self.command, "server", "--port", str(port), "--no-token"],
            env=self.environment,
            cwd=self.home,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: fetch(f"http://127.0.0.1:{port}/v1/health"), 30, "a healthy server")
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            assert process.wait(15) == 0


def fetch(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - a loopback address
            content: bytes = answer.read()
            return content
    except OSError:
        return b""


def initialized(program: Program, directory: Path) -> dict[str, Any]:
    """What `claude-native` answers to `initialize`, with a program named `claude` on PATH."""
    directory.mkdir()
    claude = directory / "claude"
    claude.write_text("#!/bin/sh\nexit 0\n")
    claude.chmod(0o755)
    program.environment["PATH"] += f":{directory}"
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    with program.server() as url:
        request = urllib.request.Request(  # noqa: S310 - a loopback address
            f"{url}/v1/acp/a?agent=claude-native",
            data=json.dumps(body).encode(),
            headers={"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310 - as above
            result: dict[str, Any] = json.load(answer)["result"]
            return result
