"""A sandbox to run commands in: a home of its own, nothing of the developer's environment, real processes."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.processes import MARK_VARIABLE, marked, wait_until

PROGRAM = [str(Path(sys.executable).with_name("sandbox-agent"))]
LIMIT_S = 60
_OURS = ("SANDBOX_AGENT_", "_SANDBOX_AGENT_", "XDG_", "PYTEST_")
_KEYS = ("_API_KEY", "_AUTH_TOKEN", "_OAUTH_TOKEN")


class SandboxDirectory:
    def __init__(self, directory: Path) -> None:
        self.home = directory / "home"
        self.home.mkdir(parents=True, exist_ok=True)
        self._opened: list[subprocess.Popen[bytes]] = []
        self.mark = secrets.token_hex(8)
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SANDBOX_AGENT_", "XDG_", "PYTEST_", "_SANDBOX"))
            and not name.endswith(_KEYS)
        }
        self.environment = {
            **kept,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(directory / "data"),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(directory / "cache"),
            "XDG_STATE_HOME": str(directory / "state"),
            "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
            "TERM": "dumb",
            MARK_VARIABLE: self.mark,
        }
        self.data = directory / "data" / "sandbox-agent"

    def run(self, *words: str, stdin: str | bytes = b"", environment: dict[str, str] | None = None) -> Result:
        """Run `sandbox-agent WORDS` to its end."""
        finished = subprocess.run(
            [*PROGRAM, *words],
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            timeout=LIMIT_S,
            env={**self.environment, **(environment or {})},
            cwd=self.home,
        )
        return Result(finished.returncode, finished.stdout.decode(), finished.stderr.decode())

    def open(self, *words: str, environment: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
        """Start `sandbox-agent WORDS`; it is killed at the end of the test, if it still runs."""
        process = subprocess.Popen(
            [*PROGRAM, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **(environment or {})},
            cwd=self.home,
        )
        self._opened.append(process)
        return process

    def close(self) -> None:
        for process in self._opened:
            process.kill()
            process.communicate()
        self.wait_until_quiet()

    def processes(self) -> dict[int, str]:
        """Everything started from here that still lives."""
        return marked(self.mark)

    def wait_until_quiet(self) -> None:
        wait_until(lambda: not self.processes(), 10, f"nothing left running of {self.processes()}")


class Result:
    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err

    def __repr__(self) -> str:
        return f"exit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"

    def good(self) -> Result:
        assert self.code == 0, self
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.out)
