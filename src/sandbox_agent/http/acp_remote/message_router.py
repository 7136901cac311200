"""Decides which stream of an HTTP connection carries each event of its instance.

A response goes where its request came from: requests of a session to the stream of the session, others to
the connection stream. Requests and notifications of the agent go by `params.sessionId`. Events of a session
whose stream is not open are held for a while and then go to the connection stream, never to both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.bridge.eventlog import sse_frames
from sandbox_agent.bridge.eventlog.sse_frames import Frames
from sandbox_agent.bridge.jsonrpc import routing_fields
from sandbox_agent.errors import TooManyStreams
from sandbox_agent.http.acp_remote.message_stream import MessageStream
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sandbox_agent.bridge.eventlog.event_log import EventLog
    from sandbox_agent.bridge.jsonrpc.routing_fields import RoutingFields

_CANCEL = "$/cancel_request"
# Their answers go to the connection stream: the client has no stream of the session before it has one.
_ANSWERED_TO_CONNECTION = frozenset(("session/new", "session/load"))
# A client that opens streams for sessions opens this one before it sends the request.
_ATTACHES_SESSION = frozenset(("session/load", "session/resume"))


class _Origin:
    """Where a request of the client came from."""

    __slots__ = ("method", "session")

    def __init__(self, method: str, session: str) -> None:
        self.method = method
        self.session = session


class SessionStream(MessageStream):
    """The stream of one session, with what is held for it."""

    __slots__ = ("held", "hold_timer", "is_bypassed")

    def __init__(self) -> None:
        super().__init__()
        self.held: list[int] = []
        """Numbers of events that wait for the stream to be opened."""
        self.hold_timer: running_loop.Timer | None = None
        self.is_bypassed = False
        """The client has not opened the stream in time: its events go to the connection stream."""


class MessageRouter:
    def __init__(self, log: EventLog, hold_s: float, max_sessions: int) -> None:
        """Route every event of `log` from now on; a held event waits for `hold_s` at most."""
        self.connection = MessageStream()
        self._sessions: dict[str, SessionStream] = {}
        self._log = log
        self._hold_s = hold_s
        self._max_sessions = max_sessions
        self._origins: dict[bytes, _Origin] = {}
        """Requests of the client that are not answered yet."""
        self._asked: dict[bytes, str] = {}
        """The sessions of requests of the agent that are not answered yet."""
        self._cursor = log.follow(self._on_append)

    def close(self) -> None:
        self._cursor.detach()
        for stream in self._sessions.values():
            _stop_timer(stream)

    @property
    def is_holding(self) -> bool:
        """Whether events wait for the stream of their session."""
        return any(stream.held for stream in self._sessions.values())

    def pump_all(self) -> None:
        """Let every receiver see that the connection has ended."""
        for stream in (self.connection, *self._sessions.values()):
            if stream.receiver is not None:
                stream.receiver.pump({})

    # ---- from the client ---------------------------------------------------------------------------------

    def request(self, fields: RoutingFields, session: str) -> None:
        """The client has sent a request; `session` is empty if it belongs to the connection."""
        self._origins[fields.id] = _Origin(fields.method, session)

    def asking_session(self, answer: RoutingFields) -> str:
        """The session of the agent's request that the client answers; empty if it has none."""
        return self._asked.get(answer.id, "")

    def answered(self, answer: RoutingFields) -> None:
        self._asked.pop(answer.id, None)

    def session_stream(self, session: str) -> SessionStream:
        """The stream of a session, known or not. Raises TooManyStreams."""
        stream = self._sessions.get(session)
        if stream is None:
            if len(self._sessions) >= self._max_sessions:
                self._forget_one_session()
            stream = self._sessions[session] = SessionStream()
        return stream

    def _forget_one_session(self) -> None:
        for session, stream in self._sessions.items():
            if stream.receiver is None and not stream.held and stream.sent == stream.last:
                del self._sessions[session]
                return
        raise TooManyStreams(self._max_sessions)

    def opened(self, stream: MessageStream) -> None:
        """A receiver was attached: it gets what was held for it."""
        if isinstance(stream, SessionStream):
            stream.is_bypassed = False
            self._release(stream, stream)
        else:
            for session_stream in self._sessions.values():
                self._start_hold(session_stream)

    # ---- from the agent ----------------------------------------------------------------------------------

    def _on_append(self) -> None:
        while (item := self._cursor.take()) is not None:
            if isinstance(item, Frames):  # otherwise retention has overtaken this step
                self._route(item.pieces)

    def _route(self, pieces: Sequence[bytes]) -> None:
        window = dict(sse_frames.lines_of(pieces))
        grown: dict[MessageStream, None] = {}
        for number, line in window.items():
            stream = self._stream_of(number, routing_fields.read(line))
            if stream is not None:
                stream.add(number, self._log.oldest)
                grown[stream] = None
        for stream in grown:
            if stream.receiver is not None:
                stream.receiver.pump(window)

    def _stream_of(self, number: int, fields: RoutingFields) -> MessageStream | None:
        """The stream for an event; None if it is held, or returned in the body of a POST."""
        if fields.method:
            session = "" if fields.method == _CANCEL else fields.session
            if fields.id:
                self._asked[fields.id] = session
            return self._open_stream(number, session)
        origin = self._origins.pop(fields.id, None)
        if origin is None:
            return self.connection
        if origin.method == "initialize":
            return None
        if origin.method in _ATTACHES_SESSION and not self._is_open(origin.session):
            self._bypass(origin.session)
            return self.connection
        if origin.method in _ANSWERED_TO_CONNECTION:
            return self.connection
        return self._open_stream(number, origin.session)

    def _is_open(self, session: str) -> bool:
        stream = self._sessions.get(session)
        return stream is not None and stream.receiver is not None

    def _open_stream(self, number: int, session: str) -> MessageStream | None:
        """The stream that takes an event of a session now; None if the event is held."""
        if not session:
            return self.connection
        try:
            stream = self.session_stream(session)
        except TooManyStreams:
            return self.connection
        if stream.receiver is not None:
            return stream
        if stream.is_bypassed:
            return self.connection
        stream.held.append(number)
        self._start_hold(stream)
        return None

    # ---- held events -------------------------------------------------------------------------------------

    def _start_hold(self, stream: SessionStream) -> None:
        """Start the time for which events are held. It runs only while the connection stream is open."""
        if stream.held and stream.hold_timer is None and self.connection.receiver is not None:
            loop = running_loop.running_loop()
            stream.hold_timer = loop.call_later(self._hold_s, self._end_hold, stream)

    def _end_hold(self, stream: SessionStream) -> None:
        stream.hold_timer = None
        if self.connection.receiver is None:
            return  # `opened` starts again.
        stream.is_bypassed = True
        self._release(stream, self.connection)

    def _bypass(self, session: str) -> None:
        """The client waits for the answer to its request without the stream of the session."""
        try:
            stream = self.session_stream(session)
        except TooManyStreams:
            return
        stream.is_bypassed = True
        self._release(stream, self.connection)

    def _release(self, stream: SessionStream, target: MessageStream) -> None:
        _stop_timer(stream)
        held, stream.held = stream.held, []
        for number in held:
            target.add(number, self._log.oldest)
        for grown in {target: None, self.connection: None} if held else ():
            if grown.receiver is not None:  # the connection stream ends when nothing is held any more
                grown.receiver.pump({})


def _stop_timer(stream: SessionStream) -> None:
    if stream.hold_timer is not None:
        stream.hold_timer.cancel()
        stream.hold_timer = None
