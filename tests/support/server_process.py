"""A server process for a test: a free loopback port, and a home in a temporary directory.

The command is `sandbox-agent server` unless SANDBOX_AGENT_CONFORMANCE_COMMAND names another one (the
reference binary, for example); settings are given as environment variables, which a server that does not know
them ignores. Agents are placed as launcher files, the one form that every server of this family understands.
"""

from __future__ import annotations

import enum
import json
import os
import secrets
import shlex
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from tests.support.clients.acp import AGENT, Acp
from tests.support.clients.raw_http import Client, ConnectionClosed
from tests.support.free_port import free_port
from tests.support.machine.mount_namespace import in_mount_namespace
from tests.support.processes import MARK_VARIABLE, is_alive, marked, wait_until

SCRIPTED_AGENT = Path(__file__).with_name("scripted_agent.py")
UVICORN_SERVER = Path(__file__).with_name("uvicorn_server.py")
# Has a `sitecustomize`, which the interpreter of the server imports when it starts.
HOOKS = Path(__file__).with_name("interpreter_hooks")
COMMAND_VARIABLE = "SANDBOX_AGENT_CONFORMANCE_COMMAND"


class HttpServer(enum.Enum):
    """What serves HTTP: the server of this product, or uvicorn, which people may use for the application."""

    OWN = "own"
    UVICORN = "uvicorn"


def server_command(http_server: HttpServer = HttpServer.OWN) -> list[str]:
    if http_server is HttpServer.UVICORN:
        return [sys.executable, str(UVICORN_SERVER)]
    named = os.environ.get(COMMAND_VARIABLE)
    return shlex.split(named) if named else [sys.executable, "-m", "sandbox_agent"]


def bare_environment(home: Path) -> dict[str, str]:
    """The smallest environment a server command needs; PYTHONPATH may name a copy of the source."""
    kept = {key: os.environ[key] for key in ("PATH", "PYTHONPATH") if key in os.environ}
    return {**kept, "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}


def place_launcher(data_home: Path, agent: str, script: str) -> Path:
    """Write an executable launcher for `agent`; `script` is its whole text."""
    directory = data_home / "sandbox-agent" / "bin" / "agent_processes"
    directory.mkdir(parents=True, exist_ok=True)
    launcher = directory / f"{agent}-acp"
    launcher.write_text(script)
    launcher.chmod(0o755)
    return launcher


def open_for_all_users(directory: Path) -> None:
    """Let another user enter the directory in which a test has put its launchers."""
    for parent in (directory, *directory.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/"):
            parent.chmod(parent.stat().st_mode | stat.S_IXOTH | stat.S_IROTH)


def scripted_launcher() -> str:
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(SCRIPTED_AGENT))} "$@"\n'


class ServerProcess:
    """Starts on construction; `ready()` waits for health, `stop()` ends the server."""

    def __init__(
        self,
        directory: Path,
        *,
        settings: dict[str, str] | None = None,
        arguments: list[str] | None = None,
        token: str | None = "secret-of-the-tests",  # noqa: S107 - a token of loopback servers in tests
        host: str = "127.0.0.1",
        isolated: bool = False,
        http_server: HttpServer = HttpServer.OWN,
        prefix: list[str] | None = None,
        program: list[str] | None = None,
    ) -> None:
        """An isolated server can write below `directory` only and serves the files of `home`.

        `prefix` is a command that executes the server, `prlimit` for example; `program` is another server.
        """
        self.mark = secrets.token_hex(8)
        self.home, self.data_home = directory / "home", directory / "data"
        self.log_path = directory / "server.log"
        self._hooks = directory / "hooks"
        for place in (self.home, self._hooks):
            place.mkdir(parents=True, exist_ok=True)
        for agent in (AGENT, "pi"):
            place_launcher(self.data_home, agent, scripted_launcher())
        self.port = free_port()
        self.token = token
        token_arguments = ["--no-token"] if token is None else ["--token", token]
        self.arguments = ["server", "--host", host, "--port", str(self.port), *token_arguments]
        self.arguments += arguments or []
        self.environment = self._environment(settings or {})
        self.http_server = http_server
        command = [*(prefix or []), *(program or server_command(http_server)), *self.arguments]
        if isolated:
            self.environment["TMPDIR"] = str(self.home)
            command = in_mount_namespace([*command, "--fs-root", str(self.home)], directory, cwd=self.home)
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
            "PYTHONPATH": os.pathsep.join(filter(None, [str(HOOKS), os.environ.get("PYTHONPATH")])),
            "SANDBOX_AGENT_TEST_HOOKS": str(self._hooks),
            **settings,
        }

    def __enter__(self) -> Self:
        """Wait until the server is ready. At the end it is stopped, and no process of it may be left."""
        try:
            return self.ready()
        except BaseException:
            self.end()
            raise

    def __exit__(self, *_: object) -> None:
        left = self.end()
        assert not left, left

    def end(self) -> dict[int, str]:
        """Stop the server and kill what is left of it, which is returned."""
        self.stop()
        return self.kill_leftovers()

    def ready(self, timeout: float = 15.0) -> Self:
        def healthy() -> bool:
            assert self.process.poll() is None, f"the server ended at once: {self.log()}"
            try:
                # 421: the server is up, but --allow-host does not have this name.
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
        """The names of the running asyncio tasks; an idle server has none. For the `server` command only."""
        told = self._hooks / "tasks"
        told.unlink(missing_ok=True)
        self.signal(signal.SIGUSR2)
        wait_until(told.exists, 15, "a list of tasks")
        tasks: list[str] = json.loads(told.read_bytes())
        return tasks

    def set_clock_ahead(self, seconds: int) -> None:
        """Move the server's wall clock by so many seconds, also backwards. For the `server` command only."""
        (self._hooks / "clock").write_text(str(seconds))
        self.tasks()  # the clock has moved when the list is there

    def wait_for_exit(self, timeout: float) -> int:
        return self.process.wait(timeout)

    def marked_processes(self) -> dict[int, str]:
        """The server and all processes that it started, as far as they live."""
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
        """SIGKILL all processes with the mark of this server; returns them."""
        left = self.marked_processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        return left


__all__ = ["SCRIPTED_AGENT", "ServerProcess", "free_port", "is_alive", "place_launcher", "scripted_launcher"]
