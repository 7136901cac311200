"""The binary of the reference server, installed once from npm into `.cache/reference`.

A file lock keeps parallel callers from installing at the same time; the conformance suite uses the same
directory.
"""

from __future__ import annotations

import fcntl
import subprocess
from pathlib import Path

from bench.paths import CACHE

PACKAGE = "@sandbox-agent/cli-linux-x64"
VERSION = "0.4.2"


def reference_binary() -> Path:
    home = CACHE / "reference"
    binary = home / "node_modules" / PACKAGE / "bin" / "sandbox-agent"
    CACHE.mkdir(exist_ok=True)
    with (CACHE / "reference.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not binary.exists():
            subprocess.run(
                [
                    "npm",
                    "install",
                    "--prefix",
                    str(home),
                    "--no-audit",
                    "--no-fund",
                    f"{PACKAGE}@{VERSION}",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
                timeout=300,
            )
        # npm may be set up not to run the package's own chmod.
        binary.chmod(0o755)
    return binary
