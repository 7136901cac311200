"""Install an agent on a server and show the progress on stderr."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import click

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import APIConnectionError
from sandbox_agent.sdk.resources.agents import INSTALL_TIMEOUT_S
from sandbox_agent.sdk.response_errors import status_error
from sandbox_agent.sdk.transport.http_api import HttpApi, network_errors, segment
from sandbox_agent.sdk.transport.sse import FrameDecoder


async def install(api: HttpApi, agent: str, options: Mapping[str, Any]) -> Any:
    """Returns the response of the install."""
    decoder = FrameDecoder()
    path = f"/v1/agents/{segment(agent)}/install"
    headers = {"accept": "text/event-stream, application/json", "content-type": "application/json"}
    async with api.open(
        "POST", path, body=json_codec.encode(dict(options)), headers=headers, read_timeout=INSTALL_TIMEOUT_S
    ) as response:
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return json_codec.decode(await response.aread())
        with network_errors(f"installing {agent}"):
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    if frame.event == "progress":
                        _show(json_codec.decode(frame.data))
                    elif frame.event == "result":
                        return json_codec.decode(frame.data)
                    elif frame.event == "error":
                        problem = json_codec.decode(frame.data)
                        raise status_error(int(problem.get("status", 500)), problem, request=f"POST {path}")
    raise APIConnectionError(f"the server ended the install of {agent} without a result")


def _show(progress: Mapping[str, Any]) -> None:
    percent = f"{progress['percent']:>3}% " if "percent" in progress else ""
    line = f"{percent}{progress['message']}"
    if sys.stderr.isatty() and progress.get("step") != "done":
        # A terminal gets one line that is overwritten.
        click.echo(f"\r\x1b[2K{line}", err=True, nl=False)
    else:
        click.echo(f"\r\x1b[2K{line}" if sys.stderr.isatty() else line, err=True)
