"""What the routing of ACP's own remote transport needs of a message: id, method and session.

Read only for connections to `/acp` over HTTP. Messages of `/v1/acp` and of WebSockets need no routing.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, NamedTuple

import msgspec

from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.jsonrpc.long_message import beginning_of
from sandbox_agent.bridge.jsonrpc.message_id import id_key

# Of a longer message that msgspec refuses, only the beginning is looked at: a complete scan takes 250 ms per
# MB at worst. Agents write the session at the beginning of `params`.
_SCANNED_BYTES = 32 * 1024
# Of a message above this size only the beginning and the end are read: all of 16 MB may take 50 ms.
_WHOLE_BYTES = 1024 * 1024
_END_BYTES = 1024


class RoutingFields(NamedTuple):
    id: bytes
    """The id as a key (`id_key`); empty if the key is absent."""
    method: str
    """Empty if the message is a response."""
    session: str
    """`params.sessionId`; empty if it is absent or not a text."""


class _Message(msgspec.Struct, gc=False):
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()


class _Params(msgspec.Struct, gc=False):
    session: str = msgspec.field(name="sessionId", default="")


_decode_message = msgspec.json.Decoder(_Message).decode
_decode_params = msgspec.json.Decoder(_Params).decode
_decode_text = msgspec.json.Decoder(str).decode


def read(message: bytes) -> RoutingFields:
    """The routing fields of a message that is known to be a JSON object."""
    try:
        fields = _decode_message(message) if len(message) <= _WHOLE_BYTES else _ends_of(message)
        method = _text(fields.method)
        session = _session(fields.params) if method else ""
    except (ValueError, RecursionError):  # legal texts that msgspec does not support
        return _read_slowly(message)
    return RoutingFields(id_key(bytes(fields.id)) if fields.id else b"", method, session)


def _ends_of(message: bytes) -> _Message:
    fields = _decode_message(beginning_of(message))
    if last := _last_members_pattern().search(message[-_END_BYTES:]):
        at_end = _decode_message(b"{%b}" % last[1])
        fields.id, fields.method = at_end.id or fields.id, at_end.method or fields.method
    return fields


def _text(raw: msgspec.Raw) -> str:
    return _decode_text(raw) if raw else ""


def _session(params: msgspec.Raw) -> str:
    try:
        return _decode_params(params).session if params else ""
    except msgspec.ValidationError:  # an array, or a session that is not a text
        return ""


def _read_slowly(message: bytes) -> RoutingFields:
    if len(message) <= _SCANNED_BYTES:
        try:
            return _of_object(json.loads(message), envelope.peek_thoroughly(message)[1])
        except RecursionError:
            pass
    beginning = message[:_SCANNED_BYTES]
    method, session = _method_pattern().search(beginning), _session_pattern().search(beginning)
    raw_id = b"" if method else envelope.id_at_beginning(beginning)
    return RoutingFields(
        id_key(raw_id) if raw_id else b"",
        method[1].decode("utf-8", "replace") if method else "",
        session[1].decode("utf-8", "replace") if method and session else "",
    )


def _of_object(message: Any, raw_id: bytes) -> RoutingFields:
    method, params = message.get("method"), message.get("params")
    method = method if isinstance(method, str) else ""
    session = params.get("sessionId") if method and isinstance(params, dict) else ""
    return RoutingFields(
        id_key(raw_id) if raw_id else b"", method, session if isinstance(session, str) else ""
    )


@cache
def _last_members_pattern() -> re.Pattern[bytes]:
    """Simple members before the last bracket of JSON, which belongs to the message itself."""
    member = rb'\s*"(?:jsonrpc|id|method)"\s*:\s*(?:"[^"\\]*"|-?[0-9]+|null)\s*'
    return re.compile(rb",(%b(?:,%b)*)\}\s*\Z" % (member, member))


@cache
def _method_pattern() -> re.Pattern[bytes]:
    return re.compile(rb'"method"\s*:\s*"([^"\\]*)"')


@cache
def _session_pattern() -> re.Pattern[bytes]:
    return re.compile(rb'"sessionId"\s*:\s*"([^"\\]*)"')
