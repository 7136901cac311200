"""Tickets: what may be requested without the token, for a time. They are kept in memory only.

A one-time ticket stands in the address of a WebSocket, where a browser cannot send a header and where logs
would keep a token: it is worthless once it is used. A share is sent as the bearer token and admits reading
one instance until it expires, is revoked, or the instance is closed.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from sandbox_agent.errors import Conflict, NotFound, TooManyStreams
from sandbox_agent.runtime import running_loop
from sandbox_agent.runtime.wall_clock import now_ns

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


class Share:
    """Admission to the stream and the status of one instance."""

    __slots__ = ("_readers", "_valid_until", "created_at_ms", "expires_at_ms", "id", "server_id", "ticket")

    def __init__(self, server_id: str, valid_s: float) -> None:
        self.id = "share_" + os.urandom(4).hex()
        self.ticket = os.urandom(_TICKET_BYTES).hex()
        self.server_id = server_id
        self.created_at_ms = now_ns() // 1_000_000
        self.expires_at_ms = self.created_at_ms + round(valid_s * 1000)
        self._valid_until = _clock() + valid_s
        self._readers: dict[Callable[[], object], running_loop.Timer] = {}

    @property
    def is_valid(self) -> bool:
        return _clock() < self._valid_until

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
        self._one_time: dict[bytes, tuple[bytes, float]] = {}
        """Path and end of validity, oldest first."""
        self._shares: dict[bytes, Share] = {}

    def issue(self, path: bytes) -> str:
        """A ticket for one request to `path`."""
        if len(self._one_time) >= _MAX_ONE_TIME:
            del self._one_time[next(iter(self._one_time))]
        ticket = os.urandom(_TICKET_BYTES).hex()
        self._one_time[ticket.encode()] = path, _clock() + VALID_S
        return ticket

    def redeem(self, ticket: bytes, path: bytes) -> bool:
        """Whether the ticket is valid for `path`; it is not any more afterwards."""
        issued_for, valid_until = self._one_time.pop(ticket, (b"", 0.0))
        return issued_for == path and _clock() < valid_until

    # ---- shares ------------------------------------------------------------------------------------------

    def share(self, server_id: str, valid_s: float) -> Share:
        """A new share of an instance. Raises Conflict if it has too many."""
        if len(self.shares_of(server_id)) >= MAX_SHARES:
            raise Conflict(f"server '{server_id}' has {MAX_SHARES} shares; revoke one of them first")
        share = Share(server_id, valid_s)
        self._shares[share.ticket.encode()] = share
        return share

    def shares_of(self, server_id: str) -> list[Share]:
        """The valid shares of an instance, oldest first."""
        for ticket in [ticket for ticket, share in self._shares.items() if not share.is_valid]:
            del self._shares[ticket]
        return [share for share in self._shares.values() if share.server_id == server_id]

    def find_share(self, ticket: bytes) -> Share | None:
        share = self._shares.get(ticket)
        return share if share is not None and share.is_valid else None

    def revoke(self, server_id: str, share_id: str) -> None:
        """End a share and the streams that are open with it. Raises NotFound."""
        for share in self.shares_of(server_id):
            if share.id == share_id:
                self._end(share)
                return
        raise NotFound.resource("share", share_id)

    def revoke_all(self, server_id: str) -> None:
        """The instance is closed: another one with the same id is not shared."""
        for share in self.shares_of(server_id) if self._shares else ():
            self._end(share)

    def _end(self, share: Share) -> None:
        del self._shares[share.ticket.encode()]
        share.end_streams()


def _clock() -> float:
    """Seconds since the start of the machine, its suspension included; they cannot be set."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)
