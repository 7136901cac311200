"""Requests of the server command are checked once, whether a direct route or the application answers them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox_agent.http.direct_routes import DirectRoutes
from sandbox_agent.http.services import Services
from sandbox_agent.settings import Settings
from tests.http.http1.http1_client import Http1Client

HEAD = b"host: localhost\r\nauthorization: Bearer t\r\n"
JSON = b"content-type: application/json\r\ncontent-length: 2\r\n\r\n{}"


class AsyncioAsOwnLoop:
    """The one method that the routes need, on the running asyncio loop."""

    def when_asyncio(self, callback: Any) -> None:
        callback()


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    from sandbox_agent.http.access.access_check import AccessCheck

    seen: list[str] = []
    original = AccessCheck.check

    def check(self: AccessCheck, method: str, path: bytes, *others: Any) -> Any:
        seen.append(f"{method} {path.decode()}")
        return original(self, method, path, *others)

    monkeypatch.setattr(AccessCheck, "check", check)
    yield seen


@pytest.mark.parametrize(
    ("request_line", "rest", "status"),
    [
        ("GET /v1/health", b"\r\n", 200),
        ("GET /v1/acp", b"\r\n", 200),
        ("GET /nowhere", b"\r\n", 404),
        ("OPTIONS /v1/acp", b"\r\n", 200),
        ("GET /v1/acp/x", b"\r\n", 404),
        ("POST /v1/acp/x", JSON, 400),
        ("DELETE /v1/acp/x", b"\r\n", 404),
    ],
)
async def test_each_request_is_checked_once(
    checks: list[str], request_line: str, rest: bytes, status: int
) -> None:
    services = Services(Settings(token="t"))
    loop: Any = AsyncioAsOwnLoop()
    client = Http1Client(DirectRoutes(services, loop))
    await client.send(request_line.encode() + b" HTTP/1.1\r\n" + HEAD + rest)
    head, _ = await client.response()
    assert head.startswith(b"HTTP/1.1 %d " % status)
    assert checks == [request_line]
    await client.close()


async def test_a_refused_request_reaches_no_route(checks: list[str]) -> None:
    services = Services(Settings(token="t"))
    loop: Any = AsyncioAsOwnLoop()
    client = Http1Client(DirectRoutes(services, loop))
    for path in (b"/v1/health", b"/v1/acp", b"/v1/acp/x"):
        await client.send(b"GET " + path + b" HTTP/1.1\r\nhost: localhost\r\n\r\n")
        assert (await client.response())[0].startswith(b"HTTP/1.1 401 ")
    assert len(checks) == 3
    await client.close()
