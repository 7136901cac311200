"""The ASGI application: access check, route, handler, problem document.

`create_app(settings)` is all a caller needs. The `server` command runs the same object behind its own
HTTP/1.1 server (`http1`, `direct_routes`).
"""

from __future__ import annotations

import asyncio

from sandbox_agent import logs
from sandbox_agent.errors import InvalidRequest, SandboxAgentError, unexpected
from sandbox_agent.http import problems
from sandbox_agent.http.access.access_check import ACCESS_EXTENSION, COMMON_HEADERS, AccessGranted
from sandbox_agent.http.access.websocket_tokens import websocket_tokens
from sandbox_agent.http.messages import (
    ClientDisconnected,
    HeaderList,
    Message,
    Receive,
    Request,
    Response,
    Scope,
    Send,
    first_headers,
    joined_headers,
)
from sandbox_agent.http.router import WEBSOCKET, Router
from sandbox_agent.http.services import Services
from sandbox_agent.http.websocket import WebSocket
from sandbox_agent.settings import Settings

logger = logs.Log("sandbox_agent.http")


class App:
    def __init__(self, services: Services) -> None:
        self.services = services
        self.router = Router()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            raise ValueError(f"unsupported ASGI scope: {scope['type']}")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await asyncio.to_thread(self.services.claim_spill_directory)
                self.services.instances.start_warm()
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.services.shutdown()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        method = scope["method"]
        try:
            await self._answer(scope, receive, sending)
        except (ClientDisconnected, ConnectionResetError):
            return
        except SandboxAgentError as error:
            if started:
                raise  # The status has been sent: the server breaks the connection.
            error.__traceback__ = None  # as in `Exchange.fail`
            await _send(problems.response(error), COMMON_HEADERS, method, send)
        except Exception as error:
            if started:
                raise
            logger.exception("request.failed", method=method)
            await _send(problems.response(unexpected(error)), COMMON_HEADERS, method, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        method = scope["method"]
        raw_path = _path_inside(scope)
        granted = self._check_access(scope, raw_path)
        if isinstance(granted, Response):
            await granted.send(method, send)
            return
        try:
            if method == "OPTIONS":
                allow = self.router.allow(raw_path).encode()
                await _send(Response(200, headers=[(b"allow", allow)]), granted.headers, method, send)
                return
            route, handler, params = self.router.match(method, raw_path)
            request = Request({**scope, "raw_path": raw_path}, receive, params)
            if route.is_raw:
                await handler(request, self.services, granted.headers, receive, send)
            else:
                await _send(await handler(request, self.services), granted.headers, method, send)
        except SandboxAgentError as error:
            granted.add_cors_to(error)
            raise

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        raw_path = _path_inside(scope)
        websocket = WebSocket(scope, receive, send)
        headers = COMMON_HEADERS
        try:
            granted = self._check_access(scope, raw_path)
            headers = granted.headers
            _, handler, websocket.path_params = self.router.match(WEBSOCKET, raw_path)
            await handler(websocket, self.services)
        except (ClientDisconnected, ConnectionResetError):
            return
        except SandboxAgentError as error:
            error.__traceback__ = None  # as in `Exchange.fail`
            await websocket.fail(error, headers)
        except Exception as error:
            logger.exception("websocket.failed", path=raw_path.decode("latin-1"))
            await websocket.fail(unexpected(error), headers)

    def _check_access(self, scope: Scope, raw_path: bytes) -> AccessGranted | Response:
        """The result of `direct_routes` if the request came from there: it is checked once."""
        granted = scope.get("extensions", {}).get(ACCESS_EXTENSION)
        if isinstance(granted, AccessGranted):
            return granted
        raw_headers, method, other_tokens = scope["headers"], scope.get("method", "GET"), []
        query = scope.get("query_string", b"")
        if scope["type"] == "websocket":
            other_tokens = websocket_tokens(raw_path, query, raw_headers)
        headers = first_headers(raw_headers)
        if b"host" not in headers and scope.get("http_version") == "1.1":
            raise InvalidRequest("no Host header")
        return self.services.access.check(method, raw_path, headers, other_tokens, query)


async def _send(response: Response, extra: HeaderList, method: str, send: Send) -> None:
    response.headers = joined_headers(response.headers, extra)
    await response.send(method, send)


def _path_inside(scope: Scope) -> bytes:
    """The raw path as this application sees it, also when it is mounted below a prefix."""
    raw_path: bytes = scope.get("raw_path") or scope["path"].encode()
    raw_path = raw_path.partition(b"?")[0]
    prefix = scope.get("root_path", "").encode()
    return raw_path[len(prefix) :] if prefix and raw_path.startswith(prefix) else raw_path


def create_app(settings: Settings | None = None) -> App:
    """The application and its services; the end of its lifespan ends the agents."""
    return App(Services(settings or Settings()))
