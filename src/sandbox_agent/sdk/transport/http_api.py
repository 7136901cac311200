"""HTTP requests to the server, with token, headers and retries.

Every failure becomes an error of `errors.py`; `retries.py` decides which requests are repeated.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from os import PathLike, fspath
from typing import Any
from urllib.parse import quote

import httpx

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import (
    APIConnectionError,
    APIStatusError,
    APITimeoutError,
    ClientClosedError,
    SandboxAgentError,
)
from sandbox_agent.sdk.response_errors import status_error
from sandbox_agent.sdk.transport.http_clients import HttpClients, send
from sandbox_agent.sdk.transport.retries import Retries, refused
from sandbox_agent.sdk.transport.run_once import RunOnce

HEALTH_PATH = "/v1/health"
CONTROL_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0
NETWORK_PATIENCE_S = 60.0
CLOSED_STREAM = httpx.ByteStream(b"")

RemotePath = str | PathLike[str]
"""A path in the sandbox."""
Query = Mapping[str, RemotePath | bool | None]


class HttpApi:
    """A base URL, a token and an `httpx.AsyncClient`."""

    def __init__(
        self,
        base_url: str,
        *,
        token: str | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = CONTROL_TIMEOUT_S,
        max_retries: int = 2,
        network_patience: float = NETWORK_PATIENCE_S,
        http_client: httpx.AsyncClient | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        server_alive: Callable[[], bool] = lambda: True,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.token = token
        self.timeout = timeout
        self.max_retries = max_retries
        self.network_patience_s = network_patience
        """How long calls wait for a server that does not answer and is not known to be gone."""
        self.health_check: RunOnce | None = None
        """Awaited before every request, except `GET /v1/health` itself."""
        self.server_alive = server_alive
        """False only if the server is known to have ended."""
        given = {name.lower(): value for name, value in (headers or {}).items()}
        self._headers = {**({"authorization": f"Bearer {token}"} if token else {}), **given}
        self.closed = False
        self._is_in_process = transport is not None
        has_tls = not self.base_url.startswith("http://")
        self._clients = HttpClients(http_client, transport, has_tls=has_tls)

    @property
    def stream_silence_s(self) -> float:
        """A stream that is silent for longer is broken: by default 45 s, three heartbeats of the server."""
        return self.network_patience_s * 0.75

    @property
    def headers(self) -> Mapping[str, str]:
        """What every request carries, the token included; the names in lower case."""
        return self._headers

    @property
    def is_in_process(self) -> bool:
        """Whether there is no network between client and server."""
        return self._is_in_process

    async def ready(self) -> None:
        """Wait until requests may be sent."""
        if self.health_check is not None:
            await self.health_check.run()

    async def aclose(self) -> None:
        """Close the HTTP client, unless it belongs to the caller; further requests are refused."""
        self.closed = True
        await self._clients.aclose()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        json: Any = None,
        content: bytes | AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout_s: float | None = None,
        retry: bool | None = None,
        once: bool = False,
    ) -> httpx.Response:
        """Send a request, read the whole response, raise on any status outside 2xx.

        `retry` says whether a request that may have arrived may be repeated (default: by the method);
        `once` forbids every repetition.
        """
        if path != HEALTH_PATH:
            await self.ready()  # outside the loop: a failed health check is not repeated
        body = json_codec.encode(json) if json is not None else content
        extra = {"content-type": "application/json"} if json is not None else {}
        repeatable = not once and (body is None or isinstance(body, bytes))
        retries = Retries(
            self.max_retries if repeatable else 0,
            idempotent=method in ("GET", "HEAD", "PUT", "DELETE") if retry is None else retry,
            read_only=method == "GET",
        )
        while True:
            try:
                return await self._once(method, path, query, body, {**extra, **(headers or {})}, timeout_s)
            except SandboxAgentError as error:
                pause = retries.pause_after(error)
                if pause is None:
                    raise
            await asyncio.sleep(pause)

    async def _once(
        self,
        method: str,
        path: str,
        query: Query | None,
        body: bytes | AsyncIterator[bytes] | None,
        headers: Mapping[str, str],
        timeout_s: float | None,
    ) -> httpx.Response:
        async with self.open(
            method, path, query=query, body=body, headers=headers, read_timeout=timeout_s, whole=True
        ) as response:
            return response

    @asynccontextmanager
    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: bytes | AsyncIterator[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        read_timeout: float | None = None,
        unlimited: bool = False,
        whole: bool = False,
    ) -> AsyncIterator[httpx.Response]:
        """Send a request once and yield the open response; raise on any status outside 2xx.

        With `whole` its body has been read.
        """
        if self.closed:
            raise ClientClosedError("the client is closed")
        if path != HEALTH_PATH:
            await self.ready()
        limit = None if unlimited else (read_timeout if read_timeout is not None else self.timeout)
        with self._clients.use() as client:
            request = client.build_request(
                method,
                self.base_url + path,
                params=_params(query),
                content=body,
                headers={**self._headers, **(headers or {})},
                timeout=httpx.Timeout(limit, connect=CONNECT_TIMEOUT_S, pool=None),
            )
            with network_errors(f"{method} {path}", server=self.base_url):
                response = await send(client, request, stream=not whole)
            try:
                if not response.is_success:
                    with network_errors(f"{method} {path}"):
                        await response.aread()
                    failure = response_error(response, f"{method} {path}")
                    failure.response = response
                    raise failure
                yield response
            finally:
                await asyncio.shield(response.aclose())
                # The stream refers to its response; without it the garbage collector is not needed.
                response.stream = CLOSED_STREAM


class network_errors:
    """Turn `httpx` failures inside the block into the library's own errors."""

    def __init__(self, what: str, *, server: str = "") -> None:
        self.what = what
        self.server = f" at {server}" if server else ""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
            failure = APIConnectionError(
                f"cannot reach the server{self.server} for {self.what}: {_reason(error)}"
            )
            failure.__cause__ = error
            raise failure from error
        if isinstance(error, httpx.TimeoutException):
            raise APITimeoutError(f"no answer in time for {self.what}", delivery_unknown=True) from error
        if isinstance(error, httpx.TransportError | httpx.StreamError):
            raise APIConnectionError(
                f"the connection broke during {self.what}: {_reason(error)}", delivery_unknown=True
            ) from error


def response_error(response: httpx.Response, request: str) -> APIStatusError:
    """The error for a response outside 2xx, whose body has been read."""
    try:
        problem = json_codec.decode(response.content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return status_error(response.status_code, None, text=response.text, request=request)
    return status_error(response.status_code, problem, request=request)


def segment(text: str) -> str:
    """A text percent-encoded as one path segment."""
    return quote(text, safe="")


def _params(query: Query | None) -> dict[str, str] | None:
    """The parameters as text; None without any, for which `httpx` does not parse the URL again."""
    written = {True: "true", False: "false"}
    given = {
        name: written[value] if isinstance(value, bool) else fspath(value)
        for name, value in (query or {}).items()
        if value is not None
    }
    return given or None


def _reason(error: BaseException) -> str:
    cause = "Connection refused" if refused(error) else str(error)
    return cause or type(error).__name__
