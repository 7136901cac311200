"""The same exercises against the official SDKs' own servers: the other columns of docs/clients.md."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.remote_clients.conftest import EXERCISES, HERE, ROOT

REFUSED = {
    ("typescript", "http", "python"): {"load_and_prompt"},
    ("python", "http", "typescript"): {"permission", "load_and_prompt", "elicitation"},
    ("python", "http", "python"): {"load_and_prompt"},
}
"""The exercises that fail, by client, transport and server; all others pass."""


@contextmanager
def serving(server: str, packages: Path, home: Path) -> Iterator[int]:
    """The port of a server that ends when its standard input does."""
    programs = {
        "typescript": [shutil.which("node") or "node", str(ROOT / "bench" / "clients" / "acp_server.mjs")],
        "python": [sys.executable, str(HERE / "python_server.py"), str(home)],
    }
    agent = json.dumps([sys.executable, "-m", "sandbox_agent.agents.mock"])
    process = subprocess.Popen(
        programs[server],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PACKAGES": str(packages), "AGENT": agent},
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(20)


@pytest.mark.full
@pytest.mark.timeout(200)
@pytest.mark.parametrize("server", ["typescript", "python"])
@pytest.mark.parametrize("transport", ["http", "ws"])
@pytest.mark.parametrize("client", ["typescript", "python"])
def test_the_published_matrix_is_true(
    run_client: Callable[..., dict[str, str]],
    packages: Path,
    tmp_path: Path,
    client: str,
    transport: str,
    server: str,
) -> None:
    with serving(server, packages, tmp_path) as port:
        seen = run_client(client, transport, f"127.0.0.1:{port}/acp", None, LIMIT_MS="15000")
    assert list(seen) == list(EXERCISES)
    failed = {name for name, outcome in seen.items() if outcome != "ok"}
    assert failed == REFUSED.get((client, transport, server), set()), seen
