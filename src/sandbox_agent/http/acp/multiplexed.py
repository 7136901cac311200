"""GET /v1/events?servers=...: the logs of several instances in one stream.

An entry of the list is a server id, alone or with a colon and the number of its last event that the client
has; `,`, `:` and `%` of an id are percent-encoded. Entries are separated by commas.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.errors import InvalidRequest, NotFound
from sandbox_agent.http.acp.stream import Source, check_accept
from sandbox_agent.http.messages import Query, decode_component

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.http.services import Services

_MAX_DIGITS = 30


def open_sources(services: Services, raw_query: bytes, headers: Mapping[bytes, bytes]) -> list[Source]:
    """One source for each server of the list. Raises what refuses the stream."""
    if services.settings.events == "off":
        raise NotFound.endpoint()
    check_accept(headers)
    wanted = _read_list(Query(raw_query).require("servers"))
    return [
        Source(_log_of(services, server_id), after, json.dumps({"serverId": server_id}).encode())
        for server_id, after in wanted.items()
    ]


def _read_list(text: str) -> dict[str, int | None]:
    """The servers of the list and the number after which each is read; None for everything that is kept."""
    wanted: dict[str, int | None] = {}
    for entry in text.split(","):
        name, colon, number = entry.partition(":")
        server_id = decode_component(name.encode())
        if not server_id or server_id in wanted:
            raise InvalidRequest("'servers' must name every server once")
        if colon and not (number.isascii() and number.isdigit() and len(number) <= _MAX_DIGITS):
            raise InvalidRequest(f"'servers': the number after {server_id!r} is not a number of an event")
        wanted[server_id] = int(number) if colon else None
    return wanted


def _log_of(services: Services, server_id: str) -> EventLog:
    """The log of a server; a closed one for a server that does not exist, whose end is reported at once."""
    found = services.instances.find(server_id)
    if found:
        return found[0].log
    missing = EventLog(Retention())
    missing.close()
    return missing
