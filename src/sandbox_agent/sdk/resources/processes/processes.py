"""`client.processes`: run a command and wait, or start a process and keep it."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from sandbox_agent.sdk.resources.processes.process import AsyncProcess
from sandbox_agent.sdk.resources.processes.process_models import (
    Command,
    ProcessInfo,
    ProcessResult,
    launch_body,
)
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath, segment


class _ProcessList(msgspec.Struct):
    processes: list[ProcessInfo]


class AsyncProcesses:
    """Processes of the sandbox. A command that is a text is run by `/bin/sh`, a list is a program's argv."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def run(
        self,
        command: Command,
        *,
        cwd: RemotePath | None = None,
        env: Mapping[str, str] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the limit of the server, too
        max_output_bytes: int | None = None,
        check: bool = False,
    ) -> ProcessResult:
        """Run a command to its end and return its output.

        The server ends the whole tree after `timeout` seconds (30 by default), or when this call is
        cancelled. With `check`, anything but exit code 0 raises `CommandFailedError`.
        """
        body = launch_body(command, cwd, env)
        if timeout is not None:
            body["timeoutMs"] = max(1, round(timeout * 1000))
        if max_output_bytes is not None:
            body["maxOutputBytes"] = max_output_bytes
        answer = await self._api.request(
            "POST", "/v1/processes/run", json=body, timeout_s=(timeout or 300.0) + 30.0, once=True
        )
        result = msgspec.json.decode(answer.content, type=ProcessResult)
        return result.check() if check else result

    async def start(
        self,
        command: Command,
        *,
        cwd: RemotePath | None = None,
        env: Mapping[str, str] | None = None,
    ) -> AsyncProcess:
        """Start a process that outlives this call; its output is kept by the server."""
        answer = await self._api.request(
            "POST", "/v1/processes", json=launch_body(command, cwd, env), once=True
        )
        return AsyncProcess(self._api, msgspec.json.decode(answer.content, type=ProcessInfo))

    async def list(self) -> list[ProcessInfo]:
        """All processes, running and exited, oldest first."""
        answer = await self._api.request("GET", "/v1/processes")
        return msgspec.json.decode(answer.content, type=_ProcessList).processes

    async def get(self, id: str) -> AsyncProcess:
        """A process by its id, also one that another client has started."""
        answer = await self._api.request("GET", f"/v1/processes/{segment(id)}")
        return AsyncProcess(self._api, msgspec.json.decode(answer.content, type=ProcessInfo))
