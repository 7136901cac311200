"""Where a response goes: an exchange of `http1`, or the messages of an ASGI server.

Handlers that answer later or piece by piece write to a `ResponseSink` and do not know which of the two it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.bridge.eventlog.file_range import FileRange
    from sandbox_agent.http.messages import HeaderList


class ResponseWriter(Protocol):
    """Produces a response piece by piece."""

    def resume(self) -> None:
        """The sink can take more again."""

    def disconnected(self) -> None:
        """The client has left; nothing more is wanted."""


class ResponseSink(Protocol):
    """Calls after the end of the response, or after the client has left, have no effect."""

    @property
    def can_write(self) -> bool:
        """Whether more should be written now; `ResponseWriter.resume` tells when it becomes true."""

    def respond(self, status: int, headers: HeaderList, body: bytes = b"") -> None:
        """Send a complete response."""

    def start(self, status: int, headers: HeaderList) -> None:
        """Begin a response whose body follows with `write` and `end`."""

    def write(self, data: bytes) -> None: ...

    def write_pieces(self, pieces: Sequence[bytes]) -> None:
        """Write without joining the pieces first."""

    def write_file(self, file_range: FileRange) -> None: ...

    def end(self) -> None: ...

    def fail(self, error: Exception) -> None:
        """Send the problem document of `error`, or break the connection if the response has begun."""

    def attach(self, writer: ResponseWriter, *, is_endless: bool = False) -> None:
        """Tell `writer` when more can be written and when the client has left.

        A client that closes its side of the connection has left if the response is endless.
        """
