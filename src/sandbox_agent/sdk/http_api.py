"""One HTTP door for everything the library asks of a server.

Adds the token and headers, turns every failure into an error of `errors.py`, and repeats only what
may be repeated: requests that never left, and idempotent ones that met a connection error or 502-504.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx

from . import wire
from .errors import APIConnectionError, APIStatusError, APITimeoutError, status_error

CONTROL_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10.0
FIRST_RETRY_S = 0.25
LAST_RETRY_S = 8.0
RETRIED_STATUSES = frozenset({502, 503, 504})
# Shorter than any server's own limit, so that a request rarely meets a connection about to be closed.
KEEPALIVE_EXPIRY_S = 3.0

Query = Mapping[str, str | bool | None]


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
        http_client: httpx.AsyncClient | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.base_url = base_url.rstrip("/")
        self.token = token
        self.timeout = timeout
        self.max_retries = max_retries
        self._headers = {**({"authorization": f"Bearer {token}"} if token else {}), **dict(headers or {})}
        self._owned = http_client is None
        self._client = http_client or httpx.AsyncClient(
            transport=transport,
            # Every session holds a stream open for its whole life; a pool limit would be a dead end.
            limits=httpx.Limits(
                max_connections=None, max_keepalive_connections=64, keepalive_expiry=KEEPALIVE_EXPIRY_S
            ),
        )

    async def aclose(self) -> None:
        """Close the HTTP client, unless the caller brought it."""
        if self._owned:
            await self._client.aclose()

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
    ) -> httpx.Response:
        """Send a request, read the whole answer, raise on any status outside 2xx."""
        body = wire.encode(json) if json is not None else content
        extra = {"content-type": "application/json"} if json is not None else {}
        idempotent = method in ("GET", "HEAD", "PUT", "DELETE") if retry is None else retry
        repeatable = body is None or isinstance(body, bytes)
        attempts = self.max_retries + 1 if repeatable else 1
        for attempt in range(attempts):
            last = attempt == attempts - 1
            try:
                return await self._once(method, path, query, body, {**extra, **(headers or {})}, timeout_s)
            except APIStatusError as error:
                if last or not idempotent or error.status_code not in RETRIED_STATUSES:
                    raise
            except APITimeoutError:
                if last or method != "GET":
                    raise
            except APIConnectionError as error:
                if last or not (idempotent or never_sent(error)):
                    raise
            await asyncio.sleep(backoff(attempt))
        raise AssertionError("unreachable")

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
            method, path, query=query, body=body, headers=headers, read_timeout=timeout_s
        ) as r:
            with network_errors(f"{method} {path}"):
                await r.aread()
            return r

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
    ) -> AsyncIterator[httpx.Response]:
        """Send a request once and hand out the open response; raise on any status outside 2xx."""
        limit = None if unlimited else (read_timeout if read_timeout is not None else self.timeout)
        request = self._client.build_request(
            method,
            self.base_url + path,
            params=_params(query),
            content=body,
            headers={**self._headers, **(headers or {})},
            timeout=httpx.Timeout(limit, connect=CONNECT_TIMEOUT_S, pool=None),
        )
        with network_errors(f"{method} {path}"):
            response = await self._client.send(request, stream=True)
        try:
            if not response.is_success:
                with network_errors(f"{method} {path}"):
                    await response.aread()
                raise problem_of(response, f"{method} {path}")
            yield response
        finally:
            await asyncio.shield(response.aclose())


class network_errors:
    """Turn `httpx` failures inside the block into the library's own errors."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, httpx.ConnectTimeout | httpx.ConnectError):
            failure = APIConnectionError(f"cannot reach the server for {self.what}: {_words(error)}")
            failure.__cause__ = error
            raise failure from error
        if isinstance(error, httpx.TimeoutException):
            raise APITimeoutError(f"no answer in time for {self.what}", delivery_unknown=True) from error
        if isinstance(error, httpx.TransportError | httpx.StreamError):
            raise APIConnectionError(
                f"the connection broke during {self.what}: {_words(error)}", delivery_unknown=True
            ) from error


def problem_of(response: httpx.Response, request: str) -> APIStatusError:
    """The error an answer outside 2xx stands for; the body has been read."""
    try:
        problem = wire.decode(response.content)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        return status_error(response.status_code, None, text=response.text, request=request)
    return status_error(response.status_code, problem, request=request)


def never_sent(error: BaseException) -> bool:
    """True if the request certainly never reached the server."""
    return isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout)


def refused(error: BaseException | None) -> bool:
    """True if nobody listens at the address: the server is not there, rather than hard to reach."""
    seen = 0
    while error is not None and seen < 10:
        if isinstance(error, ConnectionRefusedError):
            return True
        if isinstance(error, BaseExceptionGroup):
            return any(refused(inner) for inner in error.exceptions)
        error, seen = error.__cause__ or error.__context__, seen + 1
    return False


def backoff(attempt: int, *, first: float = FIRST_RETRY_S, limit: float = LAST_RETRY_S) -> float:
    """How long to wait before the next try: doubling, with jitter so that clients do not march in step."""
    delay = min(limit, first * 2.0 ** min(attempt, 16))
    return delay * (0.75 + 0.5 * random.random())  # noqa: S311 - jitter needs no secrecy


def segment(text: str) -> str:
    """One path segment, percent-encoded so that any text is one id."""
    return quote(text, safe="")


def _params(query: Query | None) -> dict[str, str]:
    written = {True: "true", False: "false"}
    return {
        name: written[value] if isinstance(value, bool) else value
        for name, value in (query or {}).items()
        if value is not None
    }


def _words(error: BaseException) -> str:
    return str(error) or type(error).__name__
