"""Waiting until a server is healthy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    AuthenticationError,
    SandboxAgentError,
)
from sandbox_agent.sdk.transport.http_api import HEALTH_PATH, HttpApi
from sandbox_agent.sdk.transport.retries import backoff, unreachable

HEALTH_WAIT_S = 15.0


async def get_health(api: HttpApi, *, once: bool = False) -> dict[str, object]:
    """The answer of `GET /v1/health`; `once`: without retries."""
    response = await api.request("GET", HEALTH_PATH, once=once)
    return dict(json_codec.decode(response.content))


async def wait_until_healthy(
    api: HttpApi, timeout_s: float, *, must_listen: bool, alive: Callable[[], bool]
) -> None:
    """Poll until the server is healthy; a wrong token and a dead server fail at once.

    With `must_listen` a refused connection fails at once too.
    """
    last: SandboxAgentError | None = None
    try:
        async with asyncio.timeout(timeout_s):
            for attempt in range(10_000):
                try:
                    if (await get_health(api, once=True)).get("status") == "ok":
                        return
                except (AuthenticationError, ValueError):
                    raise
                except (APIConnectionError, APIStatusError) as error:
                    if not alive() or (must_listen and unreachable(error)):
                        raise
                    last = error
                await asyncio.sleep(backoff(attempt, first=0.1, limit=2.0))
    except TimeoutError:
        raise APITimeoutError(
            f"the server at {api.base_url} was not healthy within {timeout_s:g} s: {last or 'no answer'}"
        ) from last
