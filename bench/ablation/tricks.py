"""The tricks of the server, and the patch that switches each off for the ablation table.

A trick is a piece of code that exists only for speed. `switch_off` replaces it in a server that is about to
start by the plain way of doing the same; the product itself has no flags for this.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Trick:
    name: str
    case: str
    """The case of `bench/ablation/run.py` in which the trick matters."""
    switch_off: Callable[[], None]


def _replace(owner: Any, name: str, value: Any) -> None:
    """Set an attribute that exists, so that a patch of renamed code fails."""
    if not hasattr(owner, name):
        raise AttributeError(f"{owner} has no {name}")
    setattr(owner, name, value)


def _module(name: str) -> Any:
    return importlib.import_module(f"sandbox_agent.{name}")


def _cached_heads() -> None:
    """Read the head of every request with the parser."""
    _replace(_module("http.http1.cached_head").CachedHead, "read", lambda *_: None)


def _busy_poll() -> None:
    """Sleep in epoll at once."""
    _replace(_module("runtime.busy_poll").BusyPoll, "poll", lambda *_: None)


def _own_loop() -> None:
    """Run the server on an ordinary asyncio loop."""
    from bench.ablation import asyncio_server_loop

    asyncio_server_loop.install()


def _larger_pipes() -> None:
    """Leave pipes at the 64 KiB of the kernel."""
    _replace(_module("bridge.stdio.pipe_size"), "fit", lambda *_: None)


def _notification_batch() -> None:
    """Check and frame each line of a flood by itself."""
    _replace(_module("bridge.jsonrpc.notification_batch"), "encode", lambda *_: None)


def _blocks() -> None:
    """Keep each event as a block of its own; implies no notification batch."""
    _notification_batch()

    def publish(self: Any, lines: Any) -> None:
        for line in lines:
            self.publish_line(line)

    _replace(_module("bridge.eventlog.event_log").EventLog, "publish", publish)
    _replace(_module("bridge.eventlog.sse_frames"), "joined", lambda blocks: blocks)


def _direct_writes() -> None:
    """Write long events through the page cache and release it once per 8 MiB."""
    segment = _module("bridge.eventlog.segment").Segment
    append, step = segment.append, 8 << 20

    def append_and_release(self: Any, blocks: Any, last: int) -> None:
        start = self.size
        append(self, blocks, last)
        if start // step != self.size // step:
            # The advice starts the write of dirty pages and drops clean ones, so each step is advised twice.
            offset = max(0, start - step)
            os.posix_fadvise(self.file.fd, offset, self.size - offset, os.POSIX_FADV_DONTNEED)

    _replace(segment, "_write_directly", lambda *_: False)
    _replace(segment, "append", append_and_release)


def _three_pieces() -> None:
    """Copy a long event into its frame."""
    frames = _module("bridge.eventlog.sse_frames")
    _replace(frames, "encode_line", lambda number, line: frames.encode(number, [line]))


def _sendfile() -> None:
    """Read replayed events into memory and write them to the socket."""
    cursor = _module("bridge.eventlog.cursor").Cursor
    file_range = _module("bridge.eventlog.file_range").FileRange
    frames = _module("bridge.eventlog.sse_frames")
    take = cursor.take

    def take_bytes(self: Any) -> Any:
        item = take(self)
        return frames.Frames(item.first, item.last, [item.read()]) if isinstance(item, file_range) else item

    _replace(cursor, "take", take_bytes)


def _replay_socket_buffer() -> None:
    """Let the kernel size the send buffer of a replay."""
    _replace(_module("http.http1.sockets.socket_options"), "prepare_for_files", lambda *_: None)


def _own_token_comparison() -> None:
    """Compare tokens with the function of the standard library, which loads OpenSSL."""
    import hmac

    _replace(_module("http.access.access_check"), "equal_in_constant_time", hmac.compare_digest)


TRICKS = (
    Trick("cached heads", "200 B x8", _cached_heads),
    Trick("busy polling", "200 B x1", _busy_poll),
    Trick("busy polling", "64 KB x1", _busy_poll),
    Trick("own loop", "200 B x8", _own_loop),
    Trick("own loop", "one event", _own_loop),
    Trick("larger pipes", "1 MB x8", _larger_pipes),
    Trick("notification batch", "flood x1", _notification_batch),
    Trick("blocks", "flood x10", _blocks),
    Trick("direct writes of long events", "1 MB x8, ring full", _direct_writes),
    Trick("long events in three pieces", "1 MB x8, ring full", _three_pieces),
    Trick("sendfile", "replay", _sendfile),
    Trick("socket buffer for replays", "replay beside load", _replay_socket_buffer),
    Trick("own comparison of tokens", "memory", _own_token_comparison),
)
