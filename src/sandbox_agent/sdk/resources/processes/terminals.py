"""`client.terminals`: programs in a terminal of the sandbox."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.resources.processes.process import AsyncProcess
from sandbox_agent.sdk.resources.processes.process_models import (
    Command,
    ProcessInfo,
    launch_body,
)
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath, segment

if TYPE_CHECKING:
    from sandbox_agent.sdk.resources.processes.terminal_socket import TerminalSocket

# The user's shell where it is set, else a plain one.
SHELL = 'exec "${SHELL:-/bin/sh}"'


class AsyncTerminal:
    """A terminal and its process. `async for data in terminal` yields output as bytes until the exit.

    Leaving the `async with` block detaches; the process goes on and can be attached to again.
    """

    def __init__(self, api: HttpApi, info: ProcessInfo, socket: TerminalSocket) -> None:
        self._socket = socket
        self.id: str = info.id
        self.process = AsyncProcess(api, info)
        """Its state, `wait`, `stop`, `kill` and `delete`."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {self.process.info.command_line}>"

    async def __aenter__(self) -> AsyncTerminal:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.detach()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._socket.output()

    @property
    def exit_code(self) -> int | None:
        """The exit code, once the output has ended; None after a signal."""
        code = (self._socket.exit or {}).get("exitCode")
        return code if isinstance(code, int) else None

    @property
    def exit_signal(self) -> str | None:
        """The signal that ended the process, once the output has ended."""
        name = (self._socket.exit or {}).get("signal")
        return name if isinstance(name, str) else None

    async def send(self, data: str | bytes) -> None:
        """Type `data`; the character with code 3 is Ctrl-C."""
        if isinstance(data, str):
            await self._socket.send({"type": "input", "data": data})
        else:
            await self._socket.send({"type": "input", "data": b64encode(data).decode(), "encoding": "base64"})

    async def resize(self, cols: int, rows: int) -> None:
        """Set the size; the program gets SIGWINCH."""
        await self._socket.send({"type": "resize", "cols": cols, "rows": rows})

    async def detach(self) -> None:
        """Close the connection; the process goes on."""
        await self._socket.close()


class AsyncTerminals:
    """Terminals of the sandbox."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def open(
        self,
        command: Command = SHELL,
        *,
        cwd: RemotePath | None = None,
        env: Mapping[str, str] | None = None,
        cols: int = 80,
        rows: int = 24,
    ) -> AsyncTerminal:
        """Start a program in a terminal, by default a shell, and attach to it."""
        body = launch_body(command, cwd, {"TERM": "xterm-256color", **(env or {})})
        body |= {"tty": True, "interactive": True, "cols": cols, "rows": rows}
        answer = await self._api.request("POST", "/v1/processes", json=body, once=True)
        return await self._attached(msgspec.json.decode(answer.content, type=ProcessInfo), 0)

    async def attach(self, id: str, *, since: int = 0) -> AsyncTerminal:
        """Attach to a terminal by its id; output with a `sequence` above `since` is sent again."""
        answer = await self._api.request("GET", f"/v1/processes/{segment(id)}")
        return await self._attached(msgspec.json.decode(answer.content, type=ProcessInfo), since)

    async def _attached(self, info: ProcessInfo, since: int) -> AsyncTerminal:
        if self._api.is_in_process:
            raise SandboxAgentError("terminals need a server that listens; the in-process one does not")
        # Loaded on first use: it takes 60 ms.
        from sandbox_agent.sdk.resources.processes.terminal_socket import TerminalSocket

        socket = TerminalSocket(self._api, f"/v1/processes/{segment(info.id)}/terminal/ws", since)
        await socket.open()
        return AsyncTerminal(self._api, info, socket)
