"""The output of a process that is run to its end, up to a limit for each stream."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox_agent.bridge.process.exit_watch import ProcessExit


class CapturedRun:
    """The `OutputOwner` of its process. What exceeds the limit is read and dropped: nothing blocks."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._output = {"stdout": bytearray(), "stderr": bytearray()}
        self.truncated = {"stdout": False, "stderr": False}
        self.exit: ProcessExit | None = None
        self.timed_out = False
        self.duration_ms = 0

    def on_output(self, stream: str, data: bytes) -> None:
        output = self._output[stream]
        room = self._max_bytes - len(output)
        output += data[:room]
        self.truncated[stream] = self.truncated[stream] or len(data) > room

    def on_exit(self, exit: ProcessExit) -> None:
        self.exit = exit

    def text(self, stream: str) -> str:
        return self._output[stream].decode(errors="replace")
