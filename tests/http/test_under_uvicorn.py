"""The ASGI application under uvicorn behaves like the server command: the same tests, the other door."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SERVER = ROOT / "tests" / "support" / "uvicorn_server.py"
# What is about messages and statuses; parsing, limits, flags and signals belong to whoever runs it.
TOPICS = (
    "test_bytes",
    "test_classification",
    "test_request_ids",
    "test_stream",
    "test_agent_exit",
    "test_order_of_checks",
    "test_lookup_and_bootstrap",
)


@pytest.mark.timeout(300)
def test_the_application_under_uvicorn_passes_the_same_conformance_tests() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--durations=0"]
    done = subprocess.run(
        [*command, *(f"tests/conformance/{topic}.py" for topic in TOPICS)],
        cwd=ROOT,
        env={**os.environ, "SANDBOX_AGENT_CONFORMANCE_COMMAND": shlex.join([sys.executable, str(SERVER)])},
        capture_output=True,
        text=True,
        timeout=290,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
