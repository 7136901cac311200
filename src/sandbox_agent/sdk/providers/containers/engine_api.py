"""The Docker Engine's HTTP API, which Podman offers too: requests over its socket, errors with its words."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import SandboxProviderError

# Podman answers some requests only when the container has started, which takes seconds under load.
REQUEST_S = 60.0


@dataclass(frozen=True, slots=True)
class EngineAddress:
    """Where an engine listens: a Unix socket, or a host and port."""

    name: str
    """`docker` or `podman`, for messages."""
    socket: str | None
    base_url: str = "http://engine"

    @property
    def host(self) -> str:
        """The machine on which published ports are; this one if the engine has a Unix socket."""
        return "127.0.0.1" if self.socket else str(urlsplit(self.base_url).hostname)

    @classmethod
    def find(cls, name: str, address: str | None) -> EngineAddress:
        """The address given, else that of DOCKER_HOST or CONTAINER_HOST, else the usual socket."""
        variable = "CONTAINER_HOST" if name == "podman" else "DOCKER_HOST"
        given = address or os.environ.get(variable) or f"unix://{_usual_socket(name)}"
        parts = urlsplit(given)
        if parts.scheme == "unix" and parts.path:
            return cls(name, parts.path)
        if parts.scheme in ("tcp", "http", "https") and parts.netloc:
            scheme = "https" if parts.scheme == "https" else "http"
            return cls(name, None, f"{scheme}://{parts.netloc}")
        raise ValueError(f"the engine's address must be unix:///path or tcp://host:port, not {given!r}")


def _usual_socket(name: str) -> str:
    usual = "/run/podman/podman.sock" if name == "podman" else "/var/run/docker.sock"
    if os.geteuid() != 0 and (runtime := os.environ.get("XDG_RUNTIME_DIR")):
        own = f"{runtime}/podman/podman.sock" if name == "podman" else f"{runtime}/docker.sock"
        return own if os.path.exists(own) or not os.path.exists(usual) else usual
    return usual


class EngineApi:
    """Requests to one engine; each has a connection of its own, so any event loop can use it."""

    def __init__(self, address: EngineAddress) -> None:
        self.address = address

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        json: Any = None,
        content: Any = None,
        accepted: tuple[int, ...] = (),
    ) -> Any:
        """The decoded answer, or None if it is empty. Raises `SandboxProviderError`.

        A status in `accepted` is no error: the answer is then None.
        """
        body = content if json is None else json_codec.encode(json)
        kind = "application/json" if json is not None else "application/x-tar"
        async with self._client() as client:
            with self._network_errors():
                response = await client.request(
                    method, path, params=query, content=body, headers={"content-type": kind}
                )
        if response.status_code in accepted:
            return None
        self._check(response.status_code, response.content, f"{method} {path}")
        return json_codec.decode(response.content) if response.content.strip() else None

    @asynccontextmanager
    async def stream(
        self, method: str, path: str, query: Mapping[str, str]
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The answer piece by piece, without a time limit."""
        async with self._client(read_s=None) as client:
            with self._network_errors():
                async with client.stream(method, path, params=query) as response:
                    if response.status_code >= 400:
                        self._check(response.status_code, await response.aread(), f"{method} {path}")
                    yield response.aiter_raw()

    def _client(self, read_s: float | None = REQUEST_S) -> httpx.AsyncClient:
        # Certificates are loaded only for an engine behind TLS: that takes 20 ms.
        verify = self.address.base_url.startswith("https")
        transport = httpx.AsyncHTTPTransport(uds=self.address.socket, verify=verify)
        timeout = httpx.Timeout(REQUEST_S, read=read_s)
        return httpx.AsyncClient(transport=transport, base_url=self.address.base_url, timeout=timeout)

    @contextmanager
    def _network_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            place = self.address.socket or self.address.base_url
            hint = "" if self.address.socket is None or os.path.exists(place) else "; there is no such socket"
            text = f"the engine at {place} cannot be reached{hint}: {error or type(error).__name__}"
            raise SandboxProviderError(self.address.name, text) from error

    def _check(self, status: int, content: bytes, request: str) -> None:
        if status < 400:
            return
        try:
            answer = json_codec.decode(content)
            message = str(answer.get("message") or answer)
        except Exception:
            message = content.decode("utf-8", "replace")
        raise SandboxProviderError(self.address.name, f"{request}: {message.strip()}", status=status)
