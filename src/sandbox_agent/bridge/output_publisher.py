"""Publishes the lines that an agent writes, unchanged, and reports messages with an id to the instance.

A block of lines is handled as a whole if every line is a JSON object. Otherwise each line is handled by
itself: blank lines are dropped, and a line that is not JSON is published as `_adapter/invalid_stdout`. A long
line that only the scanner understands is scanned in a worker thread; later lines are held back until then, so
that the order is kept.
"""

from __future__ import annotations

import codecs
from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import frames
from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc import notification_batch
from sandbox_agent.bridge.jsonrpc.envelope import SCAN_IN_THREAD_ABOVE
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.bridge.stdio.line_framer import OVERLONG
from sandbox_agent.bridge.stdio.split_lines import CR, split_lines
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from typing import Protocol

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.jsonrpc.envelope import Envelope
    from sandbox_agent.bridge.stdio.line_framer import Piece

    class OutputOwner(Protocol):
        closed: bool

        def on_message_with_id(self, raw_id: bytes, has_method: bool, line: bytes) -> None:
            """The agent has answered a call, or sent a request to the client."""

        def pause_output(self) -> None:
            """Stop reading the agent's output until `resume_output`."""

        def resume_output(self) -> None: ...


_RAW_SHOWN_BYTES = 4096


class OutputPublisher:
    __slots__ = ("_adapter_messages", "_held", "_log", "_max_line_bytes", "_owner", "is_held")

    def __init__(
        self, owner: OutputOwner, log: EventLog, max_line_bytes: int, adapter_messages: bool
    ) -> None:
        self._owner = owner
        self._log = log
        self._max_line_bytes = max_line_bytes
        self._adapter_messages = adapter_messages
        self._held: list[Piece] = []
        self.is_held = False
        """A line is being scanned in a worker thread; later lines wait in `_held`."""

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
        if piece is not OVERLONG:
            self.take_block(piece)
        elif self.is_held:
            self._held.append(OVERLONG)
        else:
            self._publish_invalid(f"a line of more than {self._max_line_bytes} bytes was dropped", b"")

    def take_block(self, block: bytes) -> None:
        """Publish a block of whole lines."""
        if self.is_held:
            self._held.append(block)
            return
        newline = block.find(b"\n")
        if 0 <= newline < len(block) - 1:
            if not self._take_batch(block):
                self._take_lines(block)
            return
        # The usual case: one line per read.
        line = block if newline < 0 else block[:-1]
        message = envelopes.peek_quickly(line)
        if message is None:
            self._take_lines(block)
            return
        if line.endswith(b"\r"):
            line = line[:-1]
        try:
            # The waiting call is answered before the event is published. Both happen in one step of the loop,
            # so no subscriber can tell.
            if message.id:
                self._owner.on_message_with_id(message.id, message.has_method, line)
        finally:
            log = self._log
            log.append(frames.encode_line(log.last + 1, line), 1)

    def _take_batch(self, block: bytes) -> bool:
        """Publish several lines as one block; False if any of them is not a JSON object."""
        batch = notification_batch.encode(self._log.last + 1, block)
        if batch:
            self._log.append(*batch)
            return True
        lines = split_lines(block)
        messages = [message for message in map(envelopes.peek_quickly, lines) if message]
        if len(messages) < len(lines):
            return False
        if CR in block:
            lines = [line.removesuffix(b"\r") for line in lines]
        self._log.publish(lines)
        on_message_with_id = self._owner.on_message_with_id
        for message, line in zip(messages, lines, strict=True):
            if message.id:
                on_message_with_id(message.id, message.has_method, line)
        return True

    def _take_lines(self, block: bytes) -> None:
        """Publish line by line, up to one that has to be scanned in a worker thread."""
        lines = split_lines(block)
        for index, line in enumerate(lines):
            line = line.removesuffix(b"\r")
            if not line.strip(b" \t\r"):
                continue
            try:
                message = envelopes.peek_quickly(line)
                if message is None and len(line) > SCAN_IN_THREAD_ABOVE:
                    self._hold(line, b"".join(later + b"\n" for later in lines[index + 1 :]))
                    return
                self._publish(message or envelopes.peek_thoroughly(line), line)
            except NotJson as error:
                self._publish_invalid(str(error), line)

    def _publish(self, message: Envelope, line: bytes) -> None:
        self._log.publish_line(line)
        if message.id:
            self._owner.on_message_with_id(message.id, message.has_method, line)

    def _hold(self, line: bytes, rest: bytes) -> None:
        """Scan a long line in a worker thread, then continue with the rest."""
        if rest:
            self._held.insert(0, rest)
        self.is_held = True
        self._owner.pause_output()

        def scanned(message: Envelope | None, error: BaseException | None) -> None:
            if self._owner.closed:
                return
            if message is not None:
                self._publish(message, line)
            else:
                self._publish_invalid(str(error), line)
            self.is_held = False
            while self._held and not self.is_held:
                self._take(self._held.pop(0))
            if not self.is_held:
                self._owner.resume_output()

        running_loop.in_thread(lambda: envelopes.peek_thoroughly(line), scanned)

    # ---- messages of the server --------------------------------------------------------------------------

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
