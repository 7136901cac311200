"""The limit on the length of a request body: 413 as soon as the body is known to exceed it.

`--max-body-bytes` is the limit of ACP messages, `--max-json-bytes` that of other JSON bodies.
"""

from __future__ import annotations

from sandbox_agent.errors import PayloadTooLarge


def check_body_size(size: int, limit: int) -> None:
    """Raise PayloadTooLarge if a body of `size` bytes, announced or received so far, exceeds `limit`."""
    if size > limit:
        raise PayloadTooLarge(f"the body exceeds {limit} bytes", limit)
