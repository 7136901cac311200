"""The envelope of an ordinary message, seen without msgspec, which need not be loaded for it.

A message is ordinary if it is short and its id is a whole number or a simple string, which have only one
spelling; then the bytes of the id follow from its value. Everything else is left to `raw_envelope`.
"""

from __future__ import annotations

from sandbox_agent.bridge.jsonrpc import plain_json
from sandbox_agent.bridge.jsonrpc.plain_json import NotPlain

_MAX_BYTES = 16 * 1024


class PlainEnvelope:
    __slots__ = ("id", "method")
    is_one_line = False

    def __init__(self, id: bytes, method: bool) -> None:
        self.id = id
        """The raw id; empty when the key is absent."""
        self.method = method
        """Whether the key is there."""


def look(data: bytes) -> PlainEnvelope:
    """Raises NotPlain when the message is not an ordinary one."""
    # An escape may stand for any character, so for a key or an id in another spelling.
    if len(data) > _MAX_BYTES or b"\\u" in data or b"\\/" in data:
        raise NotPlain
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotPlain from None
    message = plain_json.decode_object(text)
    return PlainEnvelope(_raw(message["id"], data) if "id" in message else b"", "method" in message)


def _raw(value: object, data: bytes) -> bytes:
    if type(value) is int and (value or b"-0" not in data):
        return b"%d" % value
    if type(value) is str and value.isascii() and value.isprintable() and not {'"', "\\"}.intersection(value):
        return b'"%b"' % value.encode()
    raise NotPlain
