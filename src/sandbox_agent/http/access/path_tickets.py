"""Tickets for programs in the sandbox, which do not get the token: each is valid for one path."""

from __future__ import annotations


class PathTickets:
    """Tickets by the path that they admit, until they are forgotten."""

    def __init__(self) -> None:
        self._tickets: dict[bytes, bytes] = {}

    def allow(self, path: bytes, ticket: bytes) -> None:
        self._tickets[path] = ticket

    def forget(self, path: bytes) -> None:
        self._tickets.pop(path, None)

    def get(self, path: bytes) -> bytes | None:
        return self._tickets.get(path)
