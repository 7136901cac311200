"""Brings the published npm packages into `.cache/` once, and runs Node programs with them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.clients.published_clients import REFERENCE_PACKAGES, installed

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def packages() -> Path:
    """The node_modules directory with the published clients."""
    return installed("reference-clients", REFERENCE_PACKAGES)


@pytest.fixture
def our_command(tmp_path: Path) -> Path:
    """One executable file, as SANDBOX_AGENT_BIN wants it."""
    program = tmp_path / "sandbox-agent"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m sandbox_agent "$@"\n')
    program.chmod(0o755)
    return program


@pytest.fixture
def run_node(packages: Path, tmp_path: Path) -> Callable[..., Any]:
    """Run a program of this directory; returns the JSON of its last line."""

    def run(script: str, **environment: str) -> Any:
        home = tmp_path / "home"
        home.mkdir(exist_ok=True)
        kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
        done = subprocess.run(
            [shutil.which("node") or "node", str(HERE / script)],
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
            cwd=home,
            env={
                **kept,
                "HOME": str(home),
                "XDG_DATA_HOME": str(home / "data"),
                "PACKAGES": str(packages),
                **environment,
            },
        )
        assert done.returncode == 0, (done.returncode, done.stdout[-2000:], done.stderr[-4000:])
        return json.loads(done.stdout.strip().splitlines()[-1])

    return run
