"""A real server for SDK tests: its own process, a home in a temporary directory, restartable in place."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path

from sandbox_agent.sdk.providers.embedded_server import EmbeddedServer, start_server
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions
from tests.support.server_process import free_port, place_launcher

PLAIN_AGENT = Path(__file__).with_name("plain_agent.py")
TOKEN = "token-of-the-sdk-tests"


class LiveServer:
    """Starts, stops and starts again on the same port with the same home."""

    def __init__(self, directory: Path, *arguments: str, binary_path: str | None = None) -> None:
        self.home, self.data = directory / "home", directory / "data"
        self.work = self.home / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        self.place_agents(self.data)
        self.port = free_port()
        self.token = TOKEN
        self.arguments = arguments
        self._binary = binary_path
        self._server: EmbeddedServer | None = None

    @staticmethod
    def place_agents(data: Path) -> None:
        """Put the plain agent behind `amp`, and with a login, models or a repeated history behind others."""
        for agent, extra in (
            ("amp", ""),
            ("pi", "--login"),
            ("gemini", "--models --repeats=load"),
            ("hermes", "--repeats=resume"),
        ):
            place_launcher(data, agent, _launcher(extra))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._server is not None
        return self._server.pid

    async def start(self) -> LiveServer:
        environment = {
            "HOME": str(self.home),
            "XDG_DATA_HOME": str(self.data),
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
            "SANDBOX_AGENT_LOG_STDOUT": "1",
        }
        options = SpawnOptions(
            port=self.port,
            token=self.token,
            env=environment,
            cwd=str(self.home),
            args=self.arguments,
            timeout=30.0,
            binary_path=self._binary,
        )
        self._server = await start_server(options)
        return self

    async def stop(self) -> None:
        if self._server is not None:
            await self._server.stop()
            self._server = None

    async def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        await self.stop()

    async def restart(self) -> None:
        await self.stop()
        await self.start()


def _launcher(extra: str) -> str:
    return f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -S {shlex.quote(str(PLAIN_AGENT))} {extra}\n"
