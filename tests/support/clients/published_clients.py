"""Published ACP clients from npm, installed once for all tests."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from pathlib import Path

import pytest

_CACHE = Path(__file__).parents[3] / ".cache"
REFERENCE_PACKAGES = ("sandbox-agent@0.4.2", "acp-http-client@0.4.2")
PACKAGES = ("acpx@0.1.15", "@agentclientprotocol/sdk@2.4.0")


def installed(name: str, packages: tuple[str, ...]) -> Path:
    """The node_modules directory with the packages, below the directory `name` of the cache."""
    directory = _CACHE / name
    modules = directory / "node_modules"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory.parent / f"{directory.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not all((modules / one.rpartition("@")[0] / "package.json").is_file() for one in packages):
            npm = shutil.which("npm") or "npm"
            command = [npm, "install", "--prefix", str(directory), "--no-audit", "--no-fund", *packages]
            done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
            assert done.returncode == 0, done.stderr
    return modules


@pytest.fixture(scope="session")
def packages() -> Path:
    return installed("acp-clients", PACKAGES)
