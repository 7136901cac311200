"""Who answers a request: the guard if something is wrong with it, a quick way of ours, or the application.

Requests for the ACP transport take the quick way: no task, no scope, the same functions that the ASGI
application uses. So does the question that probes ask all the time. Everything else is the application's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.acp import stream
from sandbox_agent.http.endpoints.health import HEALTH_PATH, health_response
from sandbox_agent.http.http1 import quick_post
from sandbox_agent.http.messages import Response
from sandbox_agent.http.router import decode_segment

if TYPE_CHECKING:
    from sandbox_agent.http.http1.heads import RequestHead
    from sandbox_agent.http.http1.quick_exchange import Exchange
    from sandbox_agent.http.http1.server import HttpServer

ACP_PREFIX = b"/v1/acp/"


def begin(exchange: Exchange, server: HttpServer) -> None:
    """Have the request answered, now or later; what is wrong with it is the answer."""
    head, services = exchange.head, server.services
    try:
        if head.fault is not None:
            raise head.fault
        if head.known is not None:
            exchange.extra_headers = head.known.headers
            quick_post.begin(exchange, services, head.known.server_id)
            return
        verdict = services.guard.check(head.method, head.path, head.header_map)
        if isinstance(verdict, Response):
            exchange.respond(verdict)
            return
        exchange.extra_headers = verdict.headers
        _dispatch(exchange, head, server)
    except Exception as error:
        exchange.fail(error)


def _dispatch(exchange: Exchange, head: RequestHead, server: HttpServer) -> None:
    segment = head.path[len(ACP_PREFIX) :]
    if not head.path.startswith(ACP_PREFIX) or not segment or b"/" in segment:
        _run(exchange, head, server)
        return
    server_id = decode_segment(segment)
    services = server.services
    if head.method == "POST":
        quick_post.begin(exchange, services, server_id)
    elif head.method == "GET" and exchange.complete:
        from sandbox_agent.http.http1.quick_stream import QuickStream  # with the first reader

        log, last_event_id = stream.open_log(services, server_id, head.header_map)
        QuickStream(exchange, services, log, last_event_id)
    else:
        _run(exchange, head, server)


def _run(exchange: Exchange, head: RequestHead, server: HttpServer) -> None:
    if head.path == HEALTH_PATH and head.method == "GET" and exchange.complete:
        response = health_response()
        response.headers += exchange.extra_headers
        exchange.respond(response)
    else:
        server.loop.when_asyncio(lambda: _run_app(exchange, server))


def _run_app(exchange: Exchange, server: HttpServer) -> None:
    from sandbox_agent.http.http1.asgi_run import AsgiRun  # asyncio is here by now

    AsgiRun(exchange, server.app, server.tasks)
