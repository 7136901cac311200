"""What readers with a ticket see of the messages that clients have posted.

Prompts and answers are shown as they are. Of other messages only id and method are: `session/new` carries the
environment of MCP servers, `authenticate` a key.
"""

from __future__ import annotations

import msgspec

from sandbox_agent.bridge.client_log import OMITTED

_SHOWN_METHODS = frozenset(
    (
        "initialize",
        "session/prompt",
        "session/cancel",
        "session/set_mode",
        "session/set_model",
        "session/set_config_option",
    )
)
_SHOWN_FIELDS = ("jsonrpc", "id", "method")
_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def without_secrets(body: bytes) -> bytes:
    """The message as readers with a ticket get it; null for one that cannot be read."""
    try:
        fields = _decode(body)
        method = fields.get("method")
        if method is None or msgspec.json.decode(method) in _SHOWN_METHODS:
            return body
        return msgspec.json.encode({name: fields[name] for name in _SHOWN_FIELDS if name in fields})
    except (msgspec.DecodeError, UnicodeError, RecursionError, TypeError):
        return OMITTED
