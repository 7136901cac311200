"""The Accept header of the ACP endpoints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.errors import NotAcceptable

if TYPE_CHECKING:
    from collections.abc import Mapping


def check_accept(headers: Mapping[bytes, bytes], media_type: bytes) -> None:
    """Raise NotAcceptable for a client that does not take `media_type`, the only one there is."""
    accept = headers.get(b"accept")
    if accept is None:
        return
    taken = {part.partition(b";")[0].strip().lower() for part in accept.split(b",")}
    if taken.isdisjoint((media_type, media_type.partition(b"/")[0] + b"/*", b"*/*")):
        raise NotAcceptable(f"accept must allow {media_type.decode()}")
