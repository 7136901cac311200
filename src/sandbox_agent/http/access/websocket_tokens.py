"""Tokens of a WebSocket handshake beside that of Authorization, which browsers cannot send with one."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from typing import TYPE_CHECKING

from sandbox_agent.http.messages import Query, offered_subprotocols

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.http.messages import HeaderList

BEARER_SUBPROTOCOL = "bearer."
"""Prefix of the subprotocol that carries the token, in base64url."""
_PROCESSES, _TERMINAL = b"/v1/processes/", b"/terminal/ws"


def websocket_tokens(path: bytes, query: bytes, headers: HeaderList) -> list[bytes]:
    """A subprotocol `bearer.<token in base64url>`; of terminals also `access_token` or `ticket` in the query.

    The published client uses the query. Queries end up in logs of proxies, so no other path takes a token
    from there.
    """
    tokens = []
    for name in offered_subprotocols(headers):
        if name.startswith(BEARER_SUBPROTOCOL):
            encoded = name[len(BEARER_SUBPROTOCOL) :]
            try:
                tokens.append(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
            except ValueError:
                pass  # It is no token.
    if path.startswith(_PROCESSES) and path.endswith(_TERMINAL):
        given = (Query(query).get(name) for name in ("access_token", "ticket"))
        tokens += [token.encode() for token in given if token is not None]
    return tokens


def choose_subprotocol(offered: Sequence[str]) -> str | None:
    """The subprotocol of a handshake: the first one offered that is no token, else the token.

    Browsers insist on one of those that they have offered.
    """
    names = [name for name in offered if name.isascii()]
    return next((name for name in names if not name.startswith(BEARER_SUBPROTOCOL)), next(iter(names), None))
