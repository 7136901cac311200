"""Live servers for the file and config tests, and a client of them."""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from tests.support.server_process import ServerProcess

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # loading certificates for each client takes its time


@contextlib.contextmanager
def running(
    directory: Path, *arguments: str, settings: dict[str, str] | None = None
) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    """A server with its home below `directory`, and a client with its token."""
    with (
        ServerProcess(directory, arguments=list(arguments), settings=settings) as server,
        client_of(server) as client,
    ):
        yield server, client


def client_of(server: ServerProcess) -> httpx.Client:
    return httpx.Client(
        base_url=f"http://127.0.0.1:{server.port}",
        headers={"authorization": f"Bearer {server.token}"},
        timeout=30,
        verify=_NO_TLS,
    )


def problem(response: httpx.Response, status: int, kind: str) -> dict[str, Any]:
    """The problem document of a refused request."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    document: dict[str, Any] = response.json()
    assert list(document)[:4] == ["type", "title", "status", "detail"]
    assert document["type"] == f"urn:sandbox-agent:error:{kind}"
    assert document["status"] == status
    return document


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise LookupError(pid)
