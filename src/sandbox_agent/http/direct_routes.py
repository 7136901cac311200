"""The handler of the server command: access check, then a direct route or the ASGI application.

Direct routes need no asyncio task and no ASGI scope: the messages and streams of `/v1/acp/{server_id}` and
`/acp`, which are nearly all traffic, and health probes, which a server without agents answers without loading
asyncio. The application passes over the access check for requests that come from here.
"""

from __future__ import annotations

from functools import cached_property, partial
from typing import TYPE_CHECKING

from sandbox_agent.http.access.access_check import ACCESS_EXTENSION
from sandbox_agent.http.acp import http1_handlers
from sandbox_agent.http.messages import JSON, Response, decode_segment
from sandbox_agent.http.sinks.step_guard import run_guarded

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.http.access.access_check import AccessGranted
    from sandbox_agent.http.app import App
    from sandbox_agent.http.http1.exchange import Exchange
    from sandbox_agent.http.http1.request_head import RequestHead
    from sandbox_agent.http.lease import Lease
    from sandbox_agent.http.services import Services
    from sandbox_agent.runtime.loop import Loop

HEALTH_PATH = b"/v1/health"
HEALTH_BODY = b'{"status":"ok"}'
"""As bytes, because probes are answered before msgspec is loaded; a test compares it with the typed body."""
_ACP_PREFIX = b"/v1/acp/"
_EVENTS_PATH = b"/v1/events"


class DirectRoutes:
    def __init__(self, services: Services, loop: Loop) -> None:
        self._services = services
        self._loop = loop
        self.lease: Lease | None = None
        """Renewed by every request with the token, health probes left out; set once the server listens."""
        self._tasks: set[asyncio.Task[None]] = set()

    @cached_property
    def _app(self) -> App:
        from sandbox_agent.http.app import App  # loaded with the first request that has no direct route

        return App(self._services)

    def __call__(self, exchange: Exchange) -> None:
        """Handle a request. Raises what is wrong with it."""
        head, services = exchange.head, self._services
        wants_websocket = b"upgrade" in head.header_map and head.wants_websocket
        other_tokens = _websocket_tokens(head) if wants_websocket else ()
        granted = services.access.check(head.method, head.path, head.header_map, other_tokens, head.query)
        if isinstance(granted, Response):
            exchange.respond(granted.status, granted.headers, granted.body)
            return
        exchange.problem_headers = granted.headers
        exchange.without_token = granted.without_token
        if self.lease is not None and head.path != HEALTH_PATH and not granted.without_token:
            self.lease.renew()
        is_complete = exchange.request.complete
        server_id = _server_id(head.path)
        if server_id is not None and head.method == "POST":
            handler = (
                http1_handlers.CachedPost
                if self.lease is None
                else partial(http1_handlers.LeasedPost, self.lease)
            )
            handler(services, decode_segment(server_id), granted)(exchange)
        elif server_id is not None and head.method == "GET" and is_complete:
            http1_handlers.open_stream(exchange, services, decode_segment(server_id), granted)
        elif _is_remote_acp(head.path) and (head.method == "POST" or (head.method == "GET" and is_complete)):
            from sandbox_agent.http.acp_remote import (
                http1_handlers as remote,  # loaded with the first of them
            )

            remote.handle(exchange, services, granted)
        elif head.path == _EVENTS_PATH and head.method == "GET" and is_complete:
            http1_handlers.open_events(exchange, services, granted)
        elif head.path == HEALTH_PATH and head.method == "GET" and is_complete:
            exchange.respond(200, [(b"content-type", JSON), *granted.headers], HEALTH_BODY)
        else:
            self._loop.when_asyncio(lambda: run_guarded(exchange, self._run_app, exchange, granted))

    def _run_app(self, exchange: Exchange, granted: AccessGranted) -> None:
        extensions = {ACCESS_EXTENSION: granted}
        if exchange.head.wants_websocket and self._app.router.has_websocket(exchange.head.path):
            from sandbox_agent.http.http1.websocket.asgi_websocket import (
                AsgiWebSocketRun,  # with the first WebSocket
            )

            AsgiWebSocketRun(exchange, self._app, self._tasks, extensions)
            return
        from sandbox_agent.http.http1.asgi import AsgiRun  # asyncio is loaded by now

        AsgiRun(exchange, self._app, self._tasks, extensions)


def _websocket_tokens(head: RequestHead) -> list[bytes]:
    from sandbox_agent.http.access.websocket_tokens import websocket_tokens  # with the first WebSocket

    return websocket_tokens(head.path, head.query, head.headers)


def _is_remote_acp(path: bytes) -> bool:
    """Whether a path is `/acp` or `/acp/{agent}`."""
    return path == b"/acp" or (path.startswith(b"/acp/") and path.count(b"/") == 2 and len(path) > 5)


def _server_id(path: bytes) -> bytes | None:
    """The encoded `{server_id}` of an ACP path; None for other paths."""
    segment = path[len(_ACP_PREFIX) :]
    return segment if path.startswith(_ACP_PREFIX) and segment and b"/" not in segment else None
