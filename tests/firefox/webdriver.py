"""Firefox by WebDriver BiDi, which it speaks itself: commands and events as JSON on one WebSocket."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from websockets.sync.client import connect

START_LIMIT_S = 60
COMMAND_LIMIT_S = 60
ADDRESS = re.compile(r"WebDriver BiDi listening on (ws://\S+)")


class WebDriverError(Exception):
    """A command that the browser refused."""


class Firefox:
    """A headless Firefox with a fresh profile, and a session with it."""

    def __init__(self, directory: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self._ids = itertools.count(1)
        self._log = directory / "firefox.log"
        profile = directory / "profile"
        profile.mkdir()
        executable = shutil.which("firefox-esr")
        assert executable is not None
        command = [executable, "--headless", "--no-remote", "--profile", str(profile)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--remote-debugging-port=0"],
                stdout=log,
                stderr=log,
                env={**os.environ, "HOME": str(directory), "MOZ_CRASHREPORTER_DISABLE": "1"},
                start_new_session=True,
            )
        self._open = ExitStack()
        try:
            connection = connect(f"{self._address()}/session", max_size=None, proxy=None)
            self._socket = self._open.enter_context(connection)
            self.command("session.new", capabilities={"alwaysMatch": {}})
            self.command("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        except BaseException:
            self.close()
            raise

    def command(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a command. Raises WebDriverError."""
        number = next(self._ids)
        self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self._socket.recv(COMMAND_LIMIT_S))
            if answer.get("id") != number:
                self.events.append(answer)
            elif answer["type"] == "error":
                raise WebDriverError(f"{method}: {answer['error']}: {answer['message']}")
            else:
                result: dict[str, Any] = answer["result"]
                return result

    def close(self) -> None:
        """End the browser and its child processes."""
        self._open.close()
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(START_LIMIT_S)

    def _address(self) -> str:
        deadline = time.monotonic() + START_LIMIT_S
        while time.monotonic() < deadline:
            found = ADDRESS.search(self._log.read_text(errors="replace"))
            if found:
                return found[1]
            assert self._process.poll() is None, self._log.read_text(errors="replace")
            time.sleep(0.05)
        raise AssertionError("Firefox did not begin to listen")
