"""Tickets: what may be requested without the token. They are kept in memory only, all in one table.

- A one-time ticket stands in the address of a WebSocket, where a browser cannot send a header and where logs
  would keep a token: it is worthless once it is used, or after 30 seconds.
- A path ticket is for a program in the sandbox, which does not get the token. It is sent as the bearer token
  and admits requests to one path until it is forgotten.
- A share is sent as the bearer token and admits reading one instance until it expires, is revoked, or the
  instance is closed.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from sandbox_agent.errors import Conflict, NotFound, TooManyStreams
from sandbox_agent.http.messages import Query, decode_component
from sandbox_agent.runtime import running_loop, wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable

VALID_S = 30.0
"""How long a one-time ticket is valid."""
_TICKET_BYTES = 16
# The oldest are dropped; a client opens a handful of terminals in half a minute.
_MAX_ONE_TIME = 1000
MAX_SHARES = 100
"""Of one instance."""
_MAX_STREAMS_OF_SHARE = 20


class _OneTimeTicket:
    __slots__ = ("_valid_until", "path")

    def __init__(self, path: bytes) -> None:
        self.path = path
        self._valid_until = _clock() + VALID_S

    @property
    def is_valid(self) -> bool:
        return _clock() < self._valid_until


class _PathTicket:
    __slots__ = ("path",)

    is_valid = True

    def __init__(self, path: bytes) -> None:
        self.path = path

    def admits(self, method: str, path: bytes, query: bytes) -> bool:
        return path == self.path


class Share:
    """Admission to the stream and the status of one instance."""

    __slots__ = ("_readers", "_valid_until", "created_at_ms", "expires_at_ms", "id", "server_id", "ticket")

    def __init__(self, server_id: str, valid_s: float) -> None:
        self.id = "share_" + os.urandom(4).hex()
        self.ticket = os.urandom(_TICKET_BYTES).hex()
        self.server_id = server_id
        self.created_at_ms = wall_clock.now_ms()
        self.expires_at_ms = self.created_at_ms + round(valid_s * 1000)
        self._valid_until = _clock() + valid_s
        self._readers: dict[Callable[[], object], running_loop.Timer] = {}

    @property
    def is_valid(self) -> bool:
        return _clock() < self._valid_until

    def admits(self, method: str, path: bytes, query: bytes) -> bool:
        """GET of the instance's stream, or of its entry in the list."""
        if method != "GET":
            return False
        if path == b"/v1/acp":
            return Query(query).get("serverId") == self.server_id
        segment = path.removeprefix(b"/v1/acp/")
        return segment != path and b"/" not in segment and decode_component(segment) == self.server_id

    @property
    def readers(self) -> int:
        """Streams that are open with this ticket."""
        return len(self._readers)

    def check_room(self) -> None:
        """Raises TooManyStreams: readers with a ticket must leave streams to those with the token."""
        if len(self._readers) >= _MAX_STREAMS_OF_SHARE:
            raise TooManyStreams(_MAX_STREAMS_OF_SHARE)

    def begin_stream(self, end: Callable[[], object]) -> None:
        """Call `end` when the share is over."""
        loop = running_loop.running_loop()
        self._readers[end] = loop.call_later(self._valid_until - _clock(), end)

    def stream_ended(self, end: Callable[[], object]) -> None:
        timer = self._readers.pop(end, None)
        if timer is not None:
            timer.cancel()

    def end_streams(self) -> None:
        for end in list(self._readers):
            end()


class Tickets:
    def __init__(self) -> None:
        self._tickets: dict[bytes, _OneTimeTicket | _PathTicket | Share] = {}
        """Oldest first."""

    def admits(self, ticket: bytes, method: str, path: bytes, query: bytes) -> bool:
        """Whether a request may be handled that has the ticket in place of the token."""
        known = self._tickets.get(ticket)
        return (
            known is not None
            and not isinstance(known, _OneTimeTicket)
            and known.is_valid
            and known.admits(method, path, query)
        )

    def _forget_expired(self) -> None:
        for ticket in [ticket for ticket, known in self._tickets.items() if not known.is_valid]:
            del self._tickets[ticket]

    # ---- one-time tickets --------------------------------------------------------------------------------

    def issue(self, path: bytes) -> str:
        """A ticket for one request to `path`."""
        self._forget_expired()
        one_time = [ticket for ticket, known in self._tickets.items() if isinstance(known, _OneTimeTicket)]
        if len(one_time) >= _MAX_ONE_TIME:
            del self._tickets[one_time[0]]
        return self._add(_OneTimeTicket(path))

    def redeem(self, ticket: bytes, path: bytes) -> bool:
        """Whether the one-time ticket is valid for `path`; it is not any more afterwards."""
        known = self._tickets.get(ticket)
        if not isinstance(known, _OneTimeTicket):
            return False
        del self._tickets[ticket]
        return known.path == path and known.is_valid

    def _add(self, known: _OneTimeTicket | _PathTicket) -> str:
        ticket = os.urandom(_TICKET_BYTES).hex()
        self._tickets[ticket.encode()] = known
        return ticket

    # ---- path tickets ------------------------------------------------------------------------------------

    def allow(self, path: bytes) -> str:
        """A ticket for all requests to `path`, until it is forgotten."""
        return self._add(_PathTicket(path))

    def forget(self, ticket: str) -> None:
        self._tickets.pop(ticket.encode(), None)

    # ---- shares ------------------------------------------------------------------------------------------

    def share(self, server_id: str, valid_s: float) -> Share:
        """A new share of an instance. Raises Conflict if it has too many."""
        if len(self.shares_of(server_id)) >= MAX_SHARES:
            raise Conflict(f"server '{server_id}' has {MAX_SHARES} shares; revoke one of them first")
        share = Share(server_id, valid_s)
        self._tickets[share.ticket.encode()] = share
        return share

    def shares_of(self, server_id: str) -> list[Share]:
        """The valid shares of an instance, oldest first."""
        self._forget_expired()
        shares = [known for known in self._tickets.values() if isinstance(known, Share)]
        return [share for share in shares if share.server_id == server_id]

    def find_share(self, ticket: bytes) -> Share | None:
        known = self._tickets.get(ticket)
        return known if isinstance(known, Share) and known.is_valid else None

    def revoke(self, server_id: str, share_id: str) -> None:
        """End a share and the streams that are open with it. Raises NotFound."""
        for share in self.shares_of(server_id):
            if share.id == share_id:
                self._end(share)
                return
        raise NotFound.resource("share", share_id)

    def revoke_all(self, server_id: str) -> None:
        """The instance is closed: another one with the same id is not shared."""
        for share in self.shares_of(server_id) if self._tickets else ():
            self._end(share)

    def _end(self, share: Share) -> None:
        del self._tickets[share.ticket.encode()]
        share.end_streams()


def _clock() -> float:
    """Seconds since the start of the machine, its suspension included; they cannot be set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
