"""Runs the official SDKs' clients, and their own servers, as programs of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.clients.published_clients import installed

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
PACKAGES = ("@agentclientprotocol/sdk@2.4.0", "ws@8.23.0", "zod@4.6.7")
EXERCISES = ("new_and_prompt", "permission", "load_and_prompt", "cancel", "two_sessions", "elicitation")


@pytest.fixture(scope="session")
def packages() -> Path:
    """The node_modules directory with the TypeScript SDK."""
    return installed("remote-clients", PACKAGES)


@pytest.fixture
def run_client(packages: Path, tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Run all exercises with a client; returns what each of them reported."""

    def run(client: str, transport: str, url: str, token: str | None, **more: str) -> dict[str, str]:
        programs = {
            "typescript": [shutil.which("node") or "node", str(HERE / "typescript_client.mjs")],
            "python": [sys.executable, str(HERE / "python_client.py")],
        }
        scheme = "ws" if transport == "ws" else "http"
        done = subprocess.run(
            programs[client],
            capture_output=True,
            text=True,
            timeout=150,
            check=False,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(tmp_path),
                "PACKAGES": str(packages),
                "URL": f"{scheme}://{url}",
                "TRANSPORT": transport,
                "TOKEN": token or "",
                **more,
            },
        )
        assert done.returncode == 0, (done.stdout[-2000:], done.stderr[-4000:])
        seen: dict[str, str] = json.loads(done.stdout.strip().splitlines()[-1])
        return seen

    return run
