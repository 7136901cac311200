"""A prompt as the scripts see it: its text, its attachments, its session and the client's capabilities.

Text blocks are joined. Each other block becomes a line that confirms it. A history that an SDK replays in
front of a prompt is confirmed too, but its text is not executed.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.agents.mock.jsonrpc_lines import Json, JsonRpcError
from sandbox_agent.agents.mock.mock_sessions import MockSession
from sandbox_agent.jsonrpc_error_codes import INVALID_PARAMS

REPLAY_OPENING = "Previous session history is replayed below"


class Prompt:
    """The parameters of one `session/prompt`, checked."""

    def __init__(self, session: MockSession, params: Json, client: Json, version: int = 1) -> None:
        blocks = params.get("prompt")
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise JsonRpcError(
                INVALID_PARAMS, "Invalid params", {"detail": "prompt must be a list of blocks"}
            )
        self.session = session
        self.client = client
        """The client's capabilities."""
        self.version = version
        """The protocol version of the connection."""
        self.blocks: list[Json] = blocks
        self.confirmations: list[str] = []
        texts = []
        for block in blocks:
            if block.get("type") == "text" and not _is_replay(block):
                texts.append(_text(block))
            else:
                self.confirmations.append(_confirmation(block))
        self.text = "\n".join(texts).strip()

    def client_has(self, *path: str) -> bool:
        """Whether the client declared this capability; an empty object counts as declared."""
        value: Any = self.client
        for key in path:
            value = value.get(key) if isinstance(value, dict) else None
        return value is not None and value is not False


def _text(block: Json) -> str:
    text = block.get("text")
    if not isinstance(text, str):
        raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": "a text block needs a text"})
    return text


def _is_replay(block: Json) -> bool:
    meta = block.get("_meta")
    own = meta.get("sandboxagent.dev") if isinstance(meta, dict) else None
    return _text(block).startswith(REPLAY_OPENING) or (isinstance(own, dict) and bool(own.get("replay")))


def _decoded_length(base64_text: object) -> int:
    text = base64_text.rstrip("=") if isinstance(base64_text, str) else ""
    return len(text) * 3 // 4


def _confirmation(block: Json) -> str:
    kind = block.get("type")
    if kind == "text":
        return f"received a replayed history, {len(_text(block))} characters"
    if kind in ("image", "audio"):
        return f"received {kind} {block.get('mimeType')}, {_decoded_length(block.get('data'))} bytes"
    if kind == "resource_link":
        return f"received resource_link {block.get('uri')}"
    if kind == "resource":
        resource = block.get("resource")
        if isinstance(resource, dict):
            text = resource.get("text")
            size = (
                len(text.encode("utf-8", "surrogatepass"))
                if isinstance(text, str)
                else _decoded_length(resource.get("blob"))
            )
            return f"received resource {resource.get('uri')}, {size} bytes"
    raise JsonRpcError(INVALID_PARAMS, "Invalid params", {"detail": f"unknown content block type {kind!r}"})
