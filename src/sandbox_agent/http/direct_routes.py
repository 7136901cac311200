"""The handler of the server command: access check, then a direct route or the ASGI application.

Direct routes need no asyncio task and no ASGI scope: the messages and streams of `/v1/acp/{server_id}`, which
are nearly all traffic, and health probes, which a server without agents answers without loading asyncio. The
application passes over the access check for requests that come from here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from sandbox_agent.http.access import ACCESS_EXTENSION
from sandbox_agent.http.acp import direct
from sandbox_agent.http.endpoints.health_body import HEALTH_BODY, HEALTH_PATH
from sandbox_agent.http.messages import JSON, Response
from sandbox_agent.http.router import decode_segment
from sandbox_agent.http.sinks.attempt import attempt

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.http.access import AccessGranted
    from sandbox_agent.http.app import App
    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.services import Services
    from sandbox_agent.runtime.loop import Loop

_ACP_PREFIX = b"/v1/acp/"


class DirectRoutes:
    def __init__(self, services: Services, loop: Loop) -> None:
        self._services = services
        self._loop = loop
        self._tasks: set[asyncio.Task[None]] = set()

    @cached_property
    def _app(self) -> App:
        from sandbox_agent.http.app import App  # loaded with the first request that has no direct route

        return App(self._services)

    def __call__(self, exchange: Exchange) -> None:
        """Handle a request. Raises what is wrong with it."""
        head, services = exchange.head, self._services
        granted = services.access.check(head.method, head.path, head.header_map)
        if isinstance(granted, Response):
            exchange.respond(granted)
            return
        exchange.problem_headers = granted.headers
        is_complete = exchange.request.complete
        server_id = _server_id(head.path)
        if server_id is not None and head.method == "POST":
            direct.CachedPost(services, decode_segment(server_id), granted)(exchange)
        elif server_id is not None and head.method == "GET" and is_complete:
            direct.open_stream(exchange, services, decode_segment(server_id), granted)
        elif head.path == HEALTH_PATH and head.method == "GET" and is_complete:
            exchange.respond(Response(200, HEALTH_BODY, list(granted.headers), JSON))
        else:
            self._loop.when_asyncio(lambda: attempt(exchange, self._run_app, exchange, granted))

    def _run_app(self, exchange: Exchange, granted: AccessGranted) -> None:
        from sandbox_agent.http.http1.asgi import AsgiRun  # asyncio is loaded by now

        AsgiRun(exchange, self._app, self._tasks, {ACCESS_EXTENSION: granted})


def _server_id(path: bytes) -> bytes | None:
    """The encoded `{server_id}` of an ACP path; None for other paths."""
    segment = path[len(_ACP_PREFIX) :]
    return segment if path.startswith(_ACP_PREFIX) and segment and b"/" not in segment else None
