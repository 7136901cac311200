"""Everything a mapper remembers, as one struct that can be stored.

A stored state continues a session without its earlier messages. Its JSON belongs to one version of the
mapping: `mapping_version()` changes with every change of these sources, and a state of another version is not
used.
"""

from __future__ import annotations

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from sandbox_agent.sdk.universal.mapping.acp_v2 import V2Tools
from sandbox_agent.sdk.universal.mapping.emitter import EmitterState
from sandbox_agent.sdk.universal.mapping.items.message_items import OpenMessage, Slot
from sandbox_agent.sdk.universal.mapping.items.tool_items import ToolsState
from sandbox_agent.sdk.universal.mapping.open_turns import TurnsState
from sandbox_agent.sdk.universal.mapping.session_state import SessionState
from sandbox_agent.sdk.universal.mapping.user_requests import PendingState
from sandbox_agent.sdk.universal.usage import UsageState


class OpenCall(Struct):
    """A request without an answer."""

    method: str
    params: dict[str, Any]


class MapperState(Struct):
    """The state of one mapper; its parts belong to the modules that change them."""

    emitter: EmitterState
    session: SessionState = field(default_factory=SessionState)
    messages: dict[Slot, OpenMessage] = {}
    tools: ToolsState = field(default_factory=ToolsState)
    turns: TurnsState = field(default_factory=TurnsState)
    pending: PendingState = field(default_factory=PendingState)
    v2: V2Tools = field(default_factory=V2Tools)
    client_calls: dict[str, OpenCall] = {}
    """Requests of the client by the JSON text of their id."""
    agent_calls: dict[str, OpenCall] = {}
    ids_given_by_agent: set[str] = set()
    usage: UsageState = field(default_factory=UsageState)


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(MapperState)


def encode_state(state: MapperState) -> str | None:
    """The state as JSON; None for one that JSON cannot hold, such as a text with half a surrogate pair."""
    try:
        return _encoder.encode(state).decode()
    except (UnicodeEncodeError, RecursionError, TypeError):
        return None


def decode_state(text: str) -> MapperState:
    """Read a state; raises `msgspec.MsgspecError` if the text is none."""
    return _decoder.decode(text)


@cache
def mapping_version() -> str:
    """A checksum of the sources that decide which events a message gives."""
    sources = sorted(Path(__file__).parents[1].rglob("*.py"))
    return f"{zlib.crc32(b''.join(source.read_bytes() for source in sources)):08x}"
