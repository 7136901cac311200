"""GET /v1/events?servers=...: the logs of several instances in one stream.

An entry of the list is a server id, alone or with a colon and the number of its last event that the client
has; `,`, `:` and `%` of an id are percent-encoded. Entries are separated by commas. With `include=client` a
second colon and the number of the last message of a client may follow (`clientAfter` of a single stream).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from sandbox_agent.bridge.eventlog.event_log import EventLog, Retention
from sandbox_agent.errors import InvalidRequest
from sandbox_agent.http import sse
from sandbox_agent.http.acp.accept import check_accept
from sandbox_agent.http.acp.stream import Source
from sandbox_agent.http.messages import Query, decode_component

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.http.services import Services

_MAX_DIGITS = 30


def open_sources(services: Services, raw_query: bytes, headers: Mapping[bytes, bytes]) -> list[Source]:
    """One source for each server of the list. Raises what refuses the stream."""
    services.require_enabled("events")
    check_accept(headers, sse.MEDIA_TYPE)
    query = Query(raw_query)
    wanted = _read_list(query.require("servers"))
    included = query.get("include")
    return [_source(services, server_id, position, included) for server_id, position in wanted.items()]


class _Position(NamedTuple):
    """The numbers after which a server is read; None for everything that is kept."""

    event: int | None
    client: int


def _read_list(text: str) -> dict[str, _Position]:
    """The servers of the list with their positions."""
    wanted: dict[str, _Position] = {}
    for entry in text.split(","):
        name, *numbers = entry.split(":")
        server_id = decode_component(name.encode())
        if not server_id or server_id in wanted:
            raise InvalidRequest("'servers' must name every server once")
        if len(numbers) > 2 or not all(map(_is_number, numbers)):
            raise InvalidRequest(f"'servers': the number after {server_id!r} is not a number of an event")
        event, client = (*map(int, numbers), None, None)[:2]
        wanted[server_id] = _Position(event, client or 0)
    return wanted


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _source(services: Services, server_id: str, position: _Position, included: str | None) -> Source:
    """The source of a server; for one that does not exist a closed log, whose end is reported at once."""
    name = json.dumps({"serverId": server_id}).encode()
    found = services.instances.find(server_id)
    if not found:
        missing = EventLog(Retention())
        missing.close()
        return Source(missing, position.event, name)
    if included is None:
        return Source(found[0].log, position.event, name)
    from sandbox_agent.http.acp.annotated_source import open_annotated  # loaded with the first of them

    return open_annotated(found[0], position.event, included, position.client, name)
