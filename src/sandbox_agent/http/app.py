"""The ASGI application: guard, route, handler, problem document. Mount it, test it in-process, or serve it.

`create_app(settings)` is all a caller needs; the `server` command puts its own quick HTTP protocol in front
of the same object.
"""

from __future__ import annotations

import asyncio

from sandbox_agent import logs
from sandbox_agent.errors import InternalError, SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.access import VARY
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
            raise ValueError(f"the application does not speak {scope['type']}")

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await asyncio.to_thread(self.services.claim_spill_directory)
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.services.shutdown()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        extra: HeaderList = [VARY]
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        method = scope["method"]
        try:
            extra = await self._answer(scope, receive, sending)
        except (ClientDisconnected, ConnectionResetError):
            return
        except SandboxAgentError as error:
            if started:
                raise  # The status has gone out; all that is left is to break the connection.
            await _send(problems.response(error), extra, method, send)
        except Exception:
            if started:
                raise
            logger.exception("request.failed", method=method)
            await _send(problems.response(InternalError()), extra, method, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> HeaderList:
        method = scope["method"]
        raw_path = _path_inside(scope)
        passed = self.services.guard.check(method, raw_path, first_headers(scope["headers"]))
        if isinstance(passed, Response):
            await passed.send(method, send)
            return [VARY]
        try:
            if method == "OPTIONS":
                allow = self.router.allow(raw_path).encode()
                await _send(Response(200, headers=[(b"allow", allow)]), passed.headers, method, send)
                return passed.headers
            route, handler, params = self.router.match(method, raw_path)
            request = Request({**scope, "raw_path": raw_path}, receive, params)
            if route.is_raw:
                await handler(request, self.services, passed.headers, receive, send)
            else:
                response = await handler(request, self.services)
                response.headers = [*response.headers, *passed.headers]
                await response.send(method, send)
        except SandboxAgentError as error:
            # With the headers of an allowed origin, so that the page can read what went wrong.
            error.headers |= {
                name.decode(): value.decode("latin-1") for name, value in passed.headers if name != VARY[0]
            }
            raise
        return passed.headers


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
    """The application with everything behind it. Its lifespan ends the agents."""
    return App(Services(settings or Settings()))
