"""`sandbox-agent rollouts serve` over plain HTTP: kept files of any size."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.processes import resident_bytes

_SIZE = 300 << 20


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[httpx.Client, subprocess.Popen[str]]]:
    (tmp_path / "journal.jsonl").write_text(json.dumps({"id": "a", "agent": "mock"}) + "\n")
    kept = tmp_path / "runs" / "a"
    kept.mkdir(parents=True)
    (kept / "empty").touch()
    with (kept / "big").open("wb") as file:
        file.write(b"first")
        file.truncate(_SIZE - 4)
        file.seek(0, 2)
        file.write(b"last")
    command = [sys.executable, "-m", "sandbox_agent", "rollouts", "serve", str(tmp_path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as serving:
        assert serving.stdout is not None
        address = serving.stdout.readline().strip().removesuffix("/ui/rollouts.html")
        with httpx.Client(base_url=f"{address}/v1/rollouts/a/files", timeout=60) as client:
            yield client, serving
        serving.send_signal(signal.SIGINT)
        assert serving.wait(20) == 0


@pytest.mark.clause("rollouts-page")
def test_large_kept_files_are_sent_in_pieces(served: tuple[httpx.Client, subprocess.Popen[str]]) -> None:
    client, serving = served
    assert client.get("/empty").content == b""
    head = client.head("/big")
    assert (head.headers["content-length"], head.content) == (str(_SIZE), b"")
    before = resident_bytes(serving.pid)
    with client.stream("GET", "/big") as slow, client.stream("GET", "/big") as left:
        next(left.iter_raw())
        received, end = 0, b""
        for piece in slow.iter_raw():
            if not received:
                assert piece.startswith(b"first")
            received += len(piece)
            end = (end + piece)[-4:]
        assert (received, end) == (_SIZE, b"last")
        assert resident_bytes(serving.pid) - before < 32 << 20
