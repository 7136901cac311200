"""A POST to the ACP transport on the quick way: collect the body, then hand it to `acp_post.handle`.

A head that was found in order is `known`; `Connection` hands the next request with that head straight to
`acp_post.handle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import PayloadTooLarge
from sandbox_agent.http.acp import post
from sandbox_agent.http.acp.post_options import PostOptions
from sandbox_agent.http.http1.heads import CachedPost

if TYPE_CHECKING:
    from sandbox_agent.http.http1.quick_exchange import Exchange
    from sandbox_agent.http.services import Services


def begin(exchange: Exchange, services: Services, server_id: str) -> None:
    """Answer the POST now or when its body is here. Raises what is wrong with it."""
    limit = services.settings.max_message_bytes
    length = exchange.content_length
    if length is not None and length > limit:
        raise PayloadTooLarge(f"the body exceeds {limit} bytes", limit)
    if exchange.complete or exchange.body_size > limit:
        _handle(exchange, services, server_id, limit)
        return

    def arrived() -> None:
        try:
            _handle(exchange, services, server_id, limit)
        except Exception as error:
            exchange.fail(error)

    exchange.invite_body()
    exchange.on_body(arrived, collect=True)


def _handle(exchange: Exchange, services: Services, server_id: str, limit: int) -> None:
    if exchange.body_size > limit:
        raise PayloadTooLarge(f"the body exceeds {limit} bytes", limit)
    if exchange.complete:
        head = exchange.head
        if head.known is None:
            terms = PostOptions(head.query, head.header_map)
            head.known = CachedPost(server_id, terms, exchange.extra_headers)
        post.handle(services, server_id, head.known.terms, exchange.take_body(), exchange)
