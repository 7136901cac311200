"""The ASGI application: access check, route, handler, problem document.

`create_app(settings)` is all a caller needs. The `server` command runs the same object behind its own
HTTP/1.1 server (`http1`, `direct_routes`).
"""

from __future__ import annotations

import asyncio

from sandbox_agent import logs
from sandbox_agent.errors import InvalidRequest, SandboxAgentError, unexpected
from sandbox_agent.http import problems
from sandbox_agent.http.access import ACCESS_EXTENSION, COMMON_HEADERS, AccessGranted
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
)
from sandbox_agent.http.router import Router
from sandbox_agent.http.services import Services
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
                response = await handler(request, self.services)
                response.headers = [*response.headers, *granted.headers]
                await response.send(method, send)
        except SandboxAgentError as error:
            granted.add_cors_to(error)
            raise

    def _check_access(self, scope: Scope, raw_path: bytes) -> AccessGranted | Response:
        """The result of `direct_routes` if the request came from there: it is checked once."""
        granted = scope.get("extensions", {}).get(ACCESS_EXTENSION)
        if isinstance(granted, AccessGranted):
            return granted
        headers = first_headers(scope["headers"])
        if b"host" not in headers and scope.get("http_version") == "1.1":
            raise InvalidRequest("no Host header")
        return self.services.access.check(scope["method"], raw_path, headers)


async def _send(response: Response, extra: HeaderList, method: str, send: Send) -> None:
    response.headers = [*response.headers, *extra]
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
