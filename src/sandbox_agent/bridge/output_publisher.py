"""Publishes the lines that an agent writes, unchanged, and reports messages with an id to the instance.

A block of lines is handled as a whole as far as every line is a JSON object. From the first other line on,
each line is handled by itself: blank lines are dropped, and a line that is not JSON is published as
`_adapter/invalid_stdout`. A long line, and one that only the scanner understands, is read in a worker thread,
and large blocks are handled in steps; later lines are held back until then, so that the order is kept.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc import notification_batch
from sandbox_agent.bridge.jsonrpc.envelope import SCAN_IN_THREAD_ABOVE
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.bridge.stdio.line_framer import DroppedLine
from sandbox_agent.bridge.stdio.split_lines import CR, split_lines
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.jsonrpc.envelope import Envelope
    from sandbox_agent.bridge.stdio.line_framer import Piece

    class OutputOwner(Protocol):
        closed: bool

        def on_message_with_id(self, raw_id: bytes, has_method: bool, line: bytes) -> None:
            """The agent has answered a call, or sent a request to the client."""

        def on_dropped_answer(self, raw_id: bytes) -> None:
            """The agent has answered a call with a line that was dropped."""

        def pause_output(self) -> None:
            """Stop reading the agent's output until `resume_output`."""

        def resume_output(self) -> None: ...


_RAW_SHOWN_BYTES = 4096
# What is handled before other work of the loop goes first: about five milliseconds at the worst.
_STEP_BYTES = 128 * 1024
_LINES_PER_BLOCK = 4000
_SHORT_LINE_BYTES = 1024
_LINES_PER_STEP = 400
_SCANNED_BYTES_PER_STEP = 4 * 1024


class OutputPublisher:
    __slots__ = ("_adapter_messages", "_held", "_log", "_max_line_bytes", "_owner", "is_held", "observer")

    def __init__(
        self, owner: OutputOwner, log: EventLog, max_line_bytes: int, adapter_messages: bool
    ) -> None:
        self._owner = owner
        self._log = log
        self._max_line_bytes = max_line_bytes
        self._adapter_messages = adapter_messages
        self._held: list[Piece] = []
        self.observer: Callable[[bytes], None] | None = None
        """Called with each block before it is published; a block that is held back comes twice."""
        self.is_held = False
        """What an earlier step has left, or a worker thread reads, comes first; the rest waits in `_held`."""

    def take(self, pieces: list[Piece]) -> None:
        """Publish several pieces, then wake the subscribers."""
        if len(pieces) == 1:
            self._take(pieces[0])
            return
        self._log.defers_wake = True
        try:
            for piece in pieces:
                self._take(piece)
        finally:
            self._log.defers_wake = False
            self._log.wake_waiting()

    def _take(self, piece: Piece) -> None:
        if self.is_held:
            self._held.append(piece)
        elif isinstance(piece, DroppedLine):
            self._publish_dropped(piece)
        else:
            self.take_block(piece)

    def take_block(self, block: bytes) -> None:
        """Publish a block of whole lines."""
        if self.observer is not None:
            self.observer(block)
        if self.is_held:
            self._held.append(block)
            return
        newline = block.find(b"\n")
        if 0 <= newline < len(block) - 1:
            if len(block) > _STEP_BYTES and newline < _SHORT_LINE_BYTES:
                self._take_in_steps(block, block.rfind(b"\n", 0, _STEP_BYTES) + 1)
            else:
                self._take_several(block)
            return
        # The usual case: one line per read.
        line = block if newline < 0 else block[:-1]
        message = envelopes.peek_quickly(line)
        if message is None:
            self._take_unusual(line, None, b"")
            return
        if line.endswith(b"\r"):
            line = line[:-1]
        try:
            # The waiting call is answered before the event is published. Both happen in one step of the loop,
            # so no subscriber can tell.
            _, raw_id, has_method = message
            if raw_id:
                self._owner.on_message_with_id(raw_id, has_method, line)
        finally:
            log = self._log
            log.append(sse_frames.encode_line(log.last + 1, line), 1)

    def _take_in_steps(self, block: bytes, end: int) -> None:
        """Publish the lines up to `end` now, the others in another turn of the loop."""
        self.take_block(block[:end])
        self._continue_later(block[end:])

    def _take_several(self, block: bytes) -> None:
        """Publish several lines as one block, up to one that is not a JSON object for msgspec."""
        batch = notification_batch.encode(self._log.last + 1, block)
        if batch:
            self._log.append(*batch)
            return
        lines = split_lines(block)
        if len(lines) > _LINES_PER_BLOCK:
            self._take_in_steps(block, sum(map(len, lines[:_LINES_PER_BLOCK])) + _LINES_PER_BLOCK)
            return
        messages: list[Envelope] = []
        for line in lines:
            message = envelopes.peek_quickly(line)
            if message is None:
                break
            messages.append(message)
        are_all_usual = len(messages) == len(lines)
        usual = lines if are_all_usual else lines[: len(messages)]
        rest = b"" if are_all_usual else block[sum(map(len, usual)) + len(usual) :]
        if CR in block:
            usual = [line.removesuffix(b"\r") for line in usual]
        self._log.publish(usual)
        on_message_with_id = self._owner.on_message_with_id
        for (_, raw_id, has_method), line in zip(messages, usual, strict=True):
            if raw_id:
                on_message_with_id(raw_id, has_method, line)
        if rest:
            self._take_one_by_one(rest)

    def _take_one_by_one(self, block: bytes) -> None:
        """Publish line by line for a while, then let other work of the loop go first."""
        log, at = self._log, 0
        deferred, log.defers_wake = log.defers_wake, True
        try:
            for _ in range(_LINES_PER_STEP):
                if at > _SCANNED_BYTES_PER_STEP:
                    break
                newline = block.index(b"\n", at)
                line, at = block[at:newline], newline + 1
                message = envelopes.peek_quickly(line)
                later = block[at:] if len(line) > SCAN_IN_THREAD_ABOVE else b""
                if not self._take_unusual(line, message, later) or at == len(block):
                    return
        finally:
            log.defers_wake = deferred
            if not deferred:
                log.wake_waiting()
        self._continue_later(block[at:])

    def _take_unusual(self, line: bytes, message: Envelope | None, later: bytes) -> bool:
        """Publish any line; false if a worker thread reads it, with `later` held back until then."""
        line = line.removesuffix(b"\r")
        if not line.strip(b" \t\r"):
            return True
        try:
            if message is None and len(line) > SCAN_IN_THREAD_ABOVE:
                self._read_in_thread(line, later)
                return False
            self._publish(message or envelopes.peek_thoroughly(line), line)
        except NotJson as error:
            self._publish_invalid(str(error), line)
        return True

    def _publish(self, message: Envelope, line: bytes) -> None:
        self._log.publish_line(line)
        _, raw_id, has_method = message
        if raw_id:
            self._owner.on_message_with_id(raw_id, has_method, line)

    # ---- lines that are held back ------------------------------------------------------------------------

    def _read_in_thread(self, line: bytes, later: bytes) -> None:
        def was_read(message: Envelope | None, error: BaseException | None) -> None:
            if self._owner.closed:
                return
            if message is not None:
                self._publish(message, line)
            elif isinstance(error, MemoryError):
                self._publish_dropped(DroppedLine(line))
            else:
                self._publish_invalid(str(error), line)
            self._continue()

        self._hold(later)
        running_loop.in_thread(lambda: envelopes.peek_in_thread(line), was_read)

    def _continue_later(self, block: bytes) -> None:
        """Publish the block in another turn of the loop, so that no agent keeps others waiting."""
        if self.is_held:
            self._held.append(block)
        else:
            self._hold(block)
            running_loop.running_loop().call_soon(self._continue)

    def _hold(self, block: bytes) -> None:
        if block:
            self._held.insert(0, block)
        self.is_held = True
        self._owner.pause_output()

    def _continue(self) -> None:
        """Publish the next piece that is held back."""
        if self._owner.closed:
            return
        self.is_held = False
        if self._held:
            self._take(self._held.pop(0))
        if self.is_held:
            return
        if self._held:
            self.is_held = True
            running_loop.running_loop().call_soon(self._continue)
        else:
            self._owner.resume_output()

    # ---- messages of the server --------------------------------------------------------------------------

    def _publish_dropped(self, dropped: DroppedLine) -> None:
        limit = self._max_line_bytes
        self._publish_invalid(
            f"a line of more than {limit} bytes, or of more than the memory, was dropped", b""
        )
        if raw_id := envelopes.id_at_beginning(dropped.beginning):
            self._owner.on_dropped_answer(raw_id)

    def _publish_invalid(self, error: str, line: bytes) -> None:
        whole = len(line) <= _RAW_SHOWN_BYTES
        raw = codecs.getincrementaldecoder("utf-8")("replace").decode(line[:_RAW_SHOWN_BYTES], whole)
        self.publish_adapter("invalid_stdout", {"error": error, "raw": raw})

    def publish_adapter(self, name: str, params: dict[str, object]) -> None:
        """Publish an `_adapter/*` message, unless --no-adapter-messages is set."""
        if self._adapter_messages:
            import msgspec  # loaded on first use

            message = {"jsonrpc": "2.0", "method": f"_adapter/{name}", "params": params}
            self._log.publish_line(msgspec.json.encode(message))
