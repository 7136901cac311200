"""A block of many short notifications, checked and framed as a whole instead of line by line.

An agent that streams fast writes lines that begin alike, hold one JSON object each and have no id, so no call
waits for any of them. `encode` handles exactly such blocks and returns None for all others.
"""

from __future__ import annotations

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.stdio.split_lines import CR

# Smaller blocks cost no less than their lines one by one.
_MIN_BLOCK_BYTES = 4 * 1024
_MAX_FIRST_LINE_BYTES = 512
# The part of the first line that all lines share. A longer text is searched for more quickly.
_COMMON_PREFIX_BYTES = 24


def encode(first: int, block: bytes) -> tuple[bytes, int] | None:
    """The frames of a block of whole lines, numbered from `first` on, and how many they are."""
    if (
        len(block) < _MIN_BLOCK_BYTES
        or block.find(b"\n", 0, _MAX_FIRST_LINE_BYTES) < 0
        or block[:1] != b"{"
        or CR in block
    ):
        return None
    count = envelope.count_notifications(block)
    # Inside an object no line ends with "}" while the next begins with "{". So if all lines do, each has at
    # least one object; and none has two if there are as many objects as lines.
    if count is None or block.count(b"}\n" + block[:_COMMON_PREFIX_BYTES]) + 1 != count:
        return None
    encoded = sse_frames.encode_block(first, block, count)
    return None if encoded is None else (encoded, count)
