"""An `httpx` transport that calls an ASGI application in the same process.

The response is passed on chunk by chunk, so that an open event stream works as it does over the network;
`httpx.ASGITransport` would wait for its end.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from types import TracebackType
from typing import Any

import httpx

log = logging.getLogger("sandbox_agent")

Message = MutableMapping[str, Any]
AsgiApp = Callable[
    [MutableMapping[str, Any], Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]

QUEUED_CHUNKS = 16
# How long an application may take to notice that its client has disconnected.
LEAVE_S = 1.0


class StreamingAsgiTransport(httpx.AsyncBaseTransport):
    """Runs the application's lifespan and requests as tasks of the running loop."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._lifespan = _Lifespan(app)

    async def __aenter__(self) -> StreamingAsgiTransport:
        await self._lifespan.start()
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None = None,
        exc_value: BaseException | None = None,
        traceback: TracebackType | None = None,
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Shut the application down."""
        await self._lifespan.stop()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await self._lifespan.start()
        exchange = _Exchange(self._app, request)
        return await exchange.open()


class _Exchange(httpx.AsyncByteStream):
    """One request and its response body."""

    def __init__(self, app: AsgiApp, request: httpx.Request) -> None:
        self._request = request
        self._gone = asyncio.Event()
        self._body: asyncio.Queue[bytes | None] = asyncio.Queue(QUEUED_CHUNKS)
        self._head: asyncio.Future[tuple[int, list[tuple[bytes, bytes]]]] = (
            asyncio.get_running_loop().create_future()
        )
        self._chunks = _request_chunks(request)
        self._sent_all = False
        self._task = asyncio.create_task(self._run(app), name=f"asgi {request.url.path}")
        # The reader of the response gets the exception; retrieve it here to avoid asyncio's warning.
        self._task.add_done_callback(lambda task: task.cancelled() or task.exception())

    async def open(self) -> httpx.Response:
        try:
            status, headers = await self._head
        except BaseException:
            await self.aclose()
            raise
        return httpx.Response(status, headers=headers, stream=self)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while True:
            chunk = await self._body.get()
            if chunk is None:
                break
            yield chunk
        if self._gone.is_set():
            raise httpx.ReadError("the response was closed")
        error = self._task.exception() if self._task.done() and not self._task.cancelled() else None
        if error is not None:
            raise httpx.RemoteProtocolError(f"the application failed: {error}")

    async def aclose(self) -> None:
        self._gone.set()
        self._drop_body()
        done, _ = await asyncio.wait([self._task], timeout=LEAVE_S)
        if not done:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._drop_body()
        self._body.put_nowait(None)  # Another task may be waiting for the next chunk.

    def _drop_body(self) -> None:
        while not self._body.empty():
            self._body.get_nowait()

    async def _run(self, app: AsgiApp) -> None:
        url = self._request.url
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.4"},
            "http_version": "1.1",
            "method": self._request.method,
            "scheme": url.scheme,
            "path": url.path,
            "raw_path": url.raw_path.partition(b"?")[0],
            "query_string": url.query,
            "root_path": "",
            "headers": [(name.lower(), value) for name, value in self._request.headers.raw],
            "client": ("127.0.0.1", 0),
            "server": (url.host, url.port or 80),
        }
        try:
            await app(scope, self._receive, self._send)
            if not self._head.done():
                raise httpx.RemoteProtocolError("the application ended without a response")
        except BaseException as error:
            if not self._head.done() and not isinstance(error, asyncio.CancelledError):
                self._head.set_exception(httpx.RemoteProtocolError(f"the application failed: {error!r}"))
            raise
        finally:
            await self._put(None)

    async def _receive(self) -> Message:
        if not self._sent_all:
            try:
                return {"type": "http.request", "body": await anext(self._chunks), "more_body": True}
            except StopAsyncIteration:
                self._sent_all = True
                return {"type": "http.request", "body": b"", "more_body": False}
            except Exception as error:
                # The caller's body failed: the caller gets the error, the application a disconnect.
                self._sent_all = True
                self._gone.set()
                if not self._head.done():
                    self._head.set_exception(error)
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and not self._head.done():
            self._head.set_result((message["status"], list(message.get("headers") or [])))
        elif message["type"] == "http.response.body":
            if message.get("body"):
                await self._put(bytes(message["body"]))

    async def _put(self, chunk: bytes | None) -> None:
        if self._gone.is_set():
            return
        putting = asyncio.ensure_future(self._body.put(chunk))
        leaving = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait([putting, leaving], return_when=asyncio.FIRST_COMPLETED)
        finally:
            putting.cancel()
            leaving.cancel()


async def _request_chunks(request: httpx.Request) -> AsyncIterator[bytes]:
    stream = request.stream
    if isinstance(stream, httpx.AsyncByteStream):
        async for chunk in stream:
            if chunk:
                yield chunk


class _Lifespan:
    """Start-up and shutdown of the application."""

    def __init__(self, app: AsgiApp) -> None:
        self._app = app
        self._events: asyncio.Queue[Message] = asyncio.Queue()
        self._started = asyncio.Event()
        self._stopped = asyncio.Event()
        self._failure: str | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="asgi lifespan")
            await self._events.put({"type": "lifespan.startup"})
        await self._started.wait()
        if self._failure is not None:
            raise httpx.ConnectError(f"the application did not start: {self._failure}")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        await self._events.put({"type": "lifespan.shutdown"})
        await self._stopped.wait()
        await asyncio.wait([task])

    async def _run(self) -> None:
        try:
            await self._app({"type": "lifespan", "asgi": {"version": "3.0"}}, self._events.get, self._send)
        except Exception as error:
            # ASGI: an application that raises here does not support lifespan and is served without it.
            log.debug("the application's lifespan ended: %r", error)
        finally:
            self._started.set()
            self._stopped.set()

    async def _send(self, message: Message) -> None:
        if message["type"] == "lifespan.startup.failed":
            self._failure = str(message.get("message") or "no reason given")
        if message["type"].startswith("lifespan.startup"):
            self._started.set()
        else:
            self._stopped.set()
