"""Many short notifications at one go: understood and framed as a whole, without a step per line.

A flood is lines that begin alike, hold one JSON object each and have no id, so that nobody waits for any of
them. `frame` answers only when a block is exactly that; everything else goes the ordinary way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import frames
from sandbox_agent.bridge.jsonrpc.envelope import check_utf8
from sandbox_agent.bridge.stdio.split_lines import CR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Below this a step per line costs no more than the preparations.
_WORTHWHILE_BYTES = 4 * 1024
_SHORT_LINE_BYTES = 512
# How much of the first line the others have to share: the longer it is, the quicker it is looked for.
_ALIKE_BYTES = 24


def _decode_first(block: bytes) -> Sequence[object]:
    global _decode_notifications
    from sandbox_agent.bridge.jsonrpc import raw_envelope  # msgspec comes with the first flood

    _decode_notifications = raw_envelope.decode_notifications
    return _decode_notifications(block)


_decode_notifications: Callable[[bytes], Sequence[object]] = _decode_first


def frame(first: int, block: bytes) -> tuple[bytes, int] | None:
    """The frames of a block of whole lines, and how many they are; None if it is not a flood."""
    if (
        len(block) < _WORTHWHILE_BYTES
        or block.find(b"\n", 0, _SHORT_LINE_BYTES) < 0
        or block[:1] != b"{"
        or CR in block
    ):
        return None
    template, numbers = frames.template(first, block)
    count = len(numbers)
    # Inside an object no line ends with "}" while the next begins with "{". So where all lines do, each has
    # at least one object; and none has two if there are as many objects as lines.
    if block.count(b"}\n" + block[:_ALIKE_BYTES]) + 1 != count:
        return None
    try:
        check_utf8(block)
        if len(_decode_notifications(block)) != count:
            return None
    except (ValueError, RecursionError):
        return None
    return frames.fill_in(template, first, numbers), count
