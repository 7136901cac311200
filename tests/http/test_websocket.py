"""WebSocket routes of the application: the access check, the route, refusals, the handler's view."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from typing import Any

import pytest

from sandbox_agent.errors import Conflict
from sandbox_agent.http import router
from sandbox_agent.http.app import App, create_app
from sandbox_agent.http.services import Services
from sandbox_agent.http.websocket import WebSocket
from sandbox_agent.settings import Settings

PATH = "/v1/processes/a%20b/terminal/ws"
TOKEN = "secret"


async def greet(websocket: WebSocket, services: Services) -> None:
    await websocket.accept(next(iter(websocket.subprotocols), None))
    await websocket.send(f"hello {websocket.path_params[0]} {websocket.query.get('q')}")
    await websocket.send(await websocket.receive())
    await websocket.close(4000, "done")


async def refuse(websocket: WebSocket, services: Services) -> None:
    raise Conflict("not now")


async def fail(websocket: WebSocket, services: Services) -> None:
    await websocket.accept()
    raise ZeroDivisionError


class Peer:
    """An ASGI server with one client."""

    def __init__(self, *messages: str | bytes) -> None:
        kinds = [("text" if isinstance(message, str) else "bytes", message) for message in messages]
        self.events: list[dict[str, Any]] = [
            {"type": "websocket.connect"},
            *({"type": "websocket.receive", kind: message} for kind, message in kinds),
        ]
        self.sent: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        return self.events.pop(0) if self.events else {"type": "websocket.disconnect", "code": 1001}

    async def send(self, message: Any) -> None:
        self.sent.append(dict(message))

    async def open(
        self,
        app: App,
        path: str = PATH,
        query: bytes = b"",
        subprotocols: tuple[str, ...] = (),
        **headers: str,
    ) -> None:
        pairs = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        if subprotocols:
            pairs.append((b"sec-websocket-protocol", ", ".join(subprotocols).encode()))
        scope = {
            "type": "websocket",
            "http_version": "1.1",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query,
            "headers": [(b"host", b"localhost"), *pairs],
            "subprotocols": list(subprotocols),
            "extensions": {"websocket.http.response": {}},
        }
        await app(scope, self.receive, self.send)

    @property
    def problem(self) -> tuple[int, str]:
        start, body = self.sent
        assert start["type"] == "websocket.http.response.start"
        assert (b"content-type", b"application/problem+json") in start["headers"]
        assert (b"x-content-type-options", b"nosniff") in start["headers"]
        return start["status"], json.loads(body["body"])["type"].rpartition(":")[2]


@pytest.fixture
def handler() -> Any:
    return greet


@pytest.fixture
def app(handler: Any, monkeypatch: pytest.MonkeyPatch) -> App:
    route = router.Route("WS", "/v1/processes/{process_id}/terminal/ws", "", False)
    monkeypatch.setattr(router.Route, "load", lambda self: handler)
    monkeypatch.setattr(router, "ROUTES", (route,))
    return create_app(Settings(token=TOKEN))


async def test_a_handler_accepts_receives_sends_and_closes(app: App) -> None:
    peer = Peer(b"\0\1")
    await peer.open(app, query=b"q=1", authorization=f"Bearer {TOKEN}", subprotocols=("x", "y"))
    assert peer.sent == [
        {"type": "websocket.accept", "subprotocol": "x"},
        {"type": "websocket.send", "text": "hello a b 1"},
        {"type": "websocket.send", "bytes": b"\0\1"},
        {"type": "websocket.close", "code": 4000, "reason": "done"},
    ]


async def test_a_client_that_leaves_ends_the_handler(app: App) -> None:
    peer = Peer()
    await peer.open(app, authorization=f"Bearer {TOKEN}")
    assert [message["type"] for message in peer.sent] == ["websocket.accept", "websocket.send"]


@pytest.mark.parametrize(
    "given",
    [
        {"query": b"access_token=secret"},
        {"query": b"access_token=secret", "authorization": "Bearer wrong"},
        {"subprotocols": ("bearer." + urlsafe_b64encode(TOKEN.encode()).decode().rstrip("="),)},
        {"subprotocols": ("x", "bearer." + urlsafe_b64encode(TOKEN.encode()).decode())},
        {"authorization": f"Token {TOKEN}", "query": b"access_token=wrong"},
    ],
)
@pytest.mark.clause("websocket-access")
async def test_one_right_token_is_enough_and_is_never_chosen_beside_another_subprotocol(
    app: App, given: dict[str, Any]
) -> None:
    peer = Peer()
    await peer.open(app, **given)
    offered = given.get("subprotocols", ())
    assert peer.sent[0]["subprotocol"] == next(iter(offered), None)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"query": b"access_token=wrong"},
        {"query": b"token=secret"},
        {"authorization": f"Basic {TOKEN}"},
        {"subprotocols": ("bearer.wrong", "bearer.%%%", "bearer.é")},
        {"subprotocols": ("bearer." + TOKEN,)},
        {"path": "/v1/acp/x", "query": b"access_token=secret"},
        {"path": "/v1/nowhere/terminal/ws", "query": b"access_token=secret"},
    ],
)
@pytest.mark.clause("websocket-access")
async def test_no_or_a_wrong_token_is_401_before_anything_else(app: App, given: dict[str, Any]) -> None:
    peer = Peer()
    await peer.open(app, **given)
    assert peer.problem == (401, "token_invalid")


@pytest.mark.parametrize(
    ("headers", "problem"),
    [
        ({"origin": "http://evil.example"}, (403, "forbidden_origin")),
        ({"sec_fetch_site": "cross-site"}, (403, "forbidden_origin")),
        ({"origin": "null"}, (403, "forbidden_origin")),
    ],
)
@pytest.mark.clause("websocket-access")
async def test_pages_of_other_sites_are_refused(
    app: App, headers: dict[str, str], problem: tuple[int, str]
) -> None:
    peer = Peer()
    await peer.open(app, authorization=f"Bearer {TOKEN}", **headers)
    assert peer.problem == problem


async def test_a_path_without_a_websocket_is_a_problem(app: App) -> None:
    peer = Peer()
    await peer.open(app, path="/v1/nowhere", authorization=f"Bearer {TOKEN}")
    assert peer.problem == (404, "not_found")


@pytest.mark.parametrize("handler", [refuse])
async def test_what_a_handler_raises_before_the_upgrade_is_a_problem(app: App) -> None:
    peer = Peer()
    await peer.open(app, authorization=f"Bearer {TOKEN}")
    assert peer.problem == (409, "conflict")


@pytest.mark.parametrize("handler", [fail])
async def test_what_a_handler_raises_after_the_upgrade_closes_with_1011(app: App) -> None:
    peer = Peer()
    await peer.open(app, authorization=f"Bearer {TOKEN}")
    assert peer.sent[-1] == {"type": "websocket.close", "code": 1011, "reason": "Internal Error"}
