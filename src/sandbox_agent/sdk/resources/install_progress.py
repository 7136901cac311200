"""Follow an install: one that this client asks for, or one that the first message to an agent has begun."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError, SandboxAgentError
from sandbox_agent.sdk.resources.models import AgentInfo, InstallProgress
from sandbox_agent.sdk.response_errors import status_error
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors, segment
from sandbox_agent.sdk.transport.streams.sse import FrameDecoder

OnInstallProgress = Callable[[InstallProgress], object]
INSTALL_TIMEOUT_S = 600.0
# An agent that is installed has answered by then.
_FIRST_LOOK_S, _LOOK_INTERVAL_S = 1.0, 1.0

log = logging.getLogger("sandbox_agent")


async def install(api: HttpApi, agent: str, body: Mapping[str, Any], report: OnInstallProgress) -> Any:
    """Install an agent; `report` gets every step. Returns the response of the install."""
    decoder = FrameDecoder()
    path = f"/v1/agents/{segment(agent)}/install"
    headers = {"accept": "text/event-stream, application/json", "content-type": "application/json"}
    async with api.open(
        "POST", path, body=json_codec.encode(dict(body)), headers=headers, read_timeout=INSTALL_TIMEOUT_S
    ) as response:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return json_codec.decode(await response.aread())
        with network_errors(f"installing {agent}"):
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    if frame.event == "progress":
                        report(InstallProgress.from_json(json_codec.decode(frame.data)))
                    elif frame.event == "result":
                        return json_codec.decode(frame.data)
                    elif frame.event == "error":
                        problem = json_codec.decode(frame.data)
                        raise status_error(int(problem.get("status", 500)), problem, request=f"POST {path}")
    raise APIConnectionError(f"the server ended the install of {agent} without a result")


class InstallWatch:
    """Reports installs that starts of agents wait for: one look a second, however many wait."""

    def __init__(self, api: HttpApi, report: OnInstallProgress | None) -> None:
        self._api = api
        self._report = report or _log
        self._starts: dict[str, int] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def start_of(self, agent: str) -> AsyncIterator[None]:
        """While the block starts an agent."""
        self._starts[agent] = self._starts.get(agent, 0) + 1
        if agent not in self._looking:
            self._looking[agent] = asyncio.create_task(self._look(agent), name=f"install of {agent}")
        try:
            yield
        finally:
            self._starts[agent] -= 1
            if not self._starts[agent]:
                del self._starts[agent]
                looking = self._looking.pop(agent)
                looking.cancel()
                await asyncio.gather(looking, return_exceptions=True)

    async def _look(self, agent: str) -> None:
        await asyncio.sleep(_FIRST_LOOK_S)
        last: InstallProgress | None = None
        while True:
            try:
                answer = await self._api.request("GET", f"/v1/agents/{segment(agent)}", once=True)
            except SandboxAgentError:
                return  # The start itself reports what is wrong.
            progress = AgentInfo.from_json(json_codec.decode(answer.content)).installing
            if progress is not None and progress != last:
                self._report(progress)
            last = progress
            await asyncio.sleep(_LOOK_INTERVAL_S)


def _log(progress: InstallProgress) -> None:
    percent = "" if progress.percent is None else f" ({progress.percent} %)"
    log.info("install: %s%s", progress.message, percent)
