"""A server of its own for a test: a real process, a free loopback port, a home in a temporary directory.

The command is ours unless SANDBOX_AGENT_CONFORMANCE_COMMAND names another one (the reference binary, for
example); settings are given as environment variables, which a server that does not know them ignores.
Agents are placed as launcher files, the one form that every server of this family understands.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.support.acp import AGENT, Acp
from tests.support.cage import caged as in_cage
from tests.support.processes import MARK_VARIABLE, is_alive, marked, wait_until
from tests.support.raw_http import Client, ConnectionClosed

SCRIPTED_AGENT = Path(__file__).with_name("scripted_agent.py")
# What the server's interpreter loads at its start; see the file in there.
INSIDE = Path(__file__).with_name("inside")
COMMAND_VARIABLE = "SANDBOX_AGENT_CONFORMANCE_COMMAND"


def server_command() -> list[str]:
    named = os.environ.get(COMMAND_VARIABLE)
    return shlex.split(named) if named else [sys.executable, "-m", "sandbox_agent"]


def bare_environment(home: Path) -> dict[str, str]:
    """The least a server command needs; PYTHONPATH is kept for runs against a copy of the source."""
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    return {**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def place_launcher(data_home: Path, agent: str, script: str) -> Path:
    """Write an executable launcher for `agent`; `script` is its whole text."""
    directory = data_home / "sandbox-agent" / "bin" / "agent_processes"
    directory.mkdir(parents=True, exist_ok=True)
    launcher = directory / f"{agent}-acp"
    launcher.write_text(script)
    launcher.chmod(0o755)
    return launcher


def scripted_launcher() -> str:
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(SCRIPTED_AGENT))} "$@"\n'


class ServerProcess:
    """Starts on construction; `ready()` waits for health, `stop()` ends it and whatever it left."""

    def __init__(
        self,
        directory: Path,
        *,
        settings: dict[str, str] | None = None,
        arguments: list[str] | None = None,
        token: str | None = "secret-of-the-tests",  # noqa: S107 - a token of loopback servers in tests
        host: str = "127.0.0.1",
        caged: bool = False,
    ) -> None:
        """A caged server gets generated input: it can write below `directory` only, its files are `home`."""
        self.mark = secrets.token_hex(8)
        self.home, self.data_home = directory / "home", directory / "data"
        self.log_path = directory / "server.log"
        self._inside = directory / "inside"
        for place in (self.home, self._inside):
            place.mkdir(parents=True, exist_ok=True)
        for agent in (AGENT, "pi"):
            place_launcher(self.data_home, agent, scripted_launcher())
        self.port = free_port()
        self.token = token
        token_arguments = ["--no-token"] if token is None else ["--token", token]
        self.arguments = ["server", "--host", host, "--port", str(self.port), *token_arguments]
        self.arguments += arguments or []
        self.environment = self._environment(settings or {})
        command = [*server_command(), *self.arguments]
        if caged:
            self.environment["TMPDIR"] = str(self.home)
            command = in_cage([*command, "--fs-root", str(self.home)], directory, cwd=self.home)
        self.client = Client("127.0.0.1", self.port, token)
        self.acp = Acp(self.client)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                cwd=self.home,
            )
        self.pid = self.process.pid

    def _environment(self, settings: dict[str, str]) -> dict[str, str]:
        kept = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("SANDBOX_AGENT_", "XDG_", "PYTEST_")) and not key.endswith("_API_KEY")
        }
        return {
            **kept,
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.data_home),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
            MARK_VARIABLE: self.mark,
            "PYTHONPATH": os.pathsep.join(filter(None, [str(INSIDE), os.environ.get("PYTHONPATH")])),
            "SANDBOX_AGENT_TEST_INSIDE": str(self._inside),
            **settings,
        }

    def ready(self, timeout: float = 15.0) -> ServerProcess:
        def healthy() -> bool:
            assert self.process.poll() is None, f"the server ended at once: {self.log()}"
            try:
                # 421: it is up, and answers to other names than the one that is used here.
                return self.client.get("/v1/health", timeout=2).status in (200, 421)
            except (OSError, ConnectionClosed):
                return False

        wait_until(healthy, timeout, "a healthy server")
        return self

    def log(self) -> str:
        return self.log_path.read_text(errors="replace")

    def signal(self, number: signal.Signals) -> float:
        self.process.send_signal(number)
        return time.monotonic()

    def tasks(self) -> list[str]:
        """What runs in asyncio tasks; a server at rest has none. Only of our own server."""
        told = self._inside / "tasks"
        told.unlink(missing_ok=True)
        self.signal(signal.SIGUSR2)
        wait_until(told.exists, 15, "a list of tasks")
        tasks: list[str] = json.loads(told.read_bytes())
        return tasks

    def set_clock_ahead(self, seconds: int) -> None:
        """From now on the server's wall clock is ahead by so much, or behind. Only of our own server."""
        (self._inside / "clock").write_text(str(seconds))
        self.tasks()  # it has looked once it has told

    def wait_for_exit(self, timeout: float) -> int:
        return self.process.wait(timeout)

    def marked_processes(self) -> dict[int, str]:
        """Everything of this server's that lives, the server included."""
        return marked(self.mark)

    def stop(self) -> int | None:
        """End the server; returns its exit code, or None if it had to be killed."""
        self.acp.close()
        code: int | None = None
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(6)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        return code

    def kill_leftovers(self) -> dict[int, str]:
        """SIGKILL what still carries the mark; returns what that was."""
        left = self.marked_processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return left


__all__ = ["SCRIPTED_AGENT", "ServerProcess", "free_port", "is_alive", "place_launcher", "scripted_launcher"]
