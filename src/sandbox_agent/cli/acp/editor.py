"""The editor at the other end of stdin and stdout: its messages, its end, and writing to it.

Writing is possible from several threads; each message is one line and is written as a whole.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Iterator
from contextlib import suppress

from sandbox_agent.bridge.jsonrpc import envelope as envelopes
from sandbox_agent.bridge.jsonrpc.scanner import NotJson
from sandbox_agent.cli.acp.open_requests import error_answer

STDIN, STDOUT = 0, 1
_READ_BYTES = 1 << 16


class EditorGone(Exception):
    """The editor does not read any more."""


class Editor:
    def __init__(self) -> None:
        self._lock = threading.Lock()

    def lines(self) -> Iterator[bytes]:
        """The lines that the editor writes, without their ends, until it closes stdin."""
        rest: list[bytes] = []
        while data := _read():
            *complete, last = data.split(b"\n")
            for line in complete:
                yield b"".join((*rest, line)).removesuffix(b"\r")
                rest = []
            if last:
                rest.append(last)
        if rest:
            yield b"".join(rest)

    def write(self, message: bytes) -> None:
        """Raises EditorGone."""
        with self._lock:
            view = memoryview(message + b"\n")
            while view:
                try:
                    view = view[os.write(STDOUT, view) :]
                except BlockingIOError:
                    select.select((), (STDOUT,), ())
                except OSError as error:
                    raise EditorGone from error

    def refuse_first_request(self, reason: str) -> None:
        """Answer the first request of the editor with an error: there is no agent."""
        with suppress(NotJson, EditorGone):
            for line in self.lines():
                _, raw_id, has_method = envelopes.peek_thoroughly(line)
                if raw_id and has_method:
                    self.write(error_answer(raw_id, reason))
                    return


def _read() -> bytes:
    while True:
        try:
            return os.read(STDIN, _READ_BYTES)
        except BlockingIOError:
            select.select((STDIN,), (), ())
        except OSError:
            return b""


def reader_gone() -> bool:
    """Whether the editor has closed its end of stdout, as it does when it dies."""
    poll = select.poll()
    poll.register(STDOUT, 0)
    return bool(poll.poll(0))
