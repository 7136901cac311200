"""From the bytes of a connection to its requests.

The head of a message that came before is known again (`heads.py`), an ordinary one is read here and now
(`plain_head.py`), and everything else goes through the parser (`request_parser.py`). A body of known length
needs no parser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent.http.acp import post
from sandbox_agent.http.http1 import dispatch, plain_head
from sandbox_agent.http.http1.heads import CachedHead
from sandbox_agent.http.http1.quick_exchange import Exchange
from sandbox_agent.http.http1.socket_transport import READ_BYTES

if TYPE_CHECKING:
    from sandbox_agent.http.http1.connection import Connection
    from sandbox_agent.http.http1.heads import RequestHead
    from sandbox_agent.http.http1.request_parser import RequestParser
    from sandbox_agent.http.http1.server import HttpServer
    from sandbox_agent.http.http1.socket_transport import SocketTransport

_LONG_BODY_BYTES = 64 * 1024
# A body up to this length gets its place at once; a longer one must first arrive to cost memory.
_PLACED_BODY_BYTES = 2 * 1024 * 1024


class Intake:
    __slots__ = (
        "_again",
        "_connection",
        "_parser",
        "_plain_left",
        "_server",
        "_transport",
        "arriving",
        "in_message",
        "window_bytes",
    )

    def __init__(self, connection: Connection, server: HttpServer, transport: SocketTransport) -> None:
        self._connection = connection
        self._server = server
        self._transport = transport
        self._parser: RequestParser | None = None
        """Reads what is not ordinary; made when something like that arrives."""
        self._again: CachedHead | None = None
        """The head of the last message, which the next one probably has too."""
        self.arriving: Exchange | None = None
        """The request whose body is arriving."""
        self._plain_left = 0
        """Bytes of a body that are taken as they come, without the parser."""
        self.in_message = False
        """A request has begun and has not arrived as a whole."""
        self.window_bytes = 0
        """How much of it came in the present period."""

    def close(self) -> None:
        if self._parser is not None:
            self._parser.close()
            self._parser = None

    # ---- of socket_transport.Receiver --------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        connection = self._connection
        if connection.is_deaf:
            return
        if not self.in_message and connection.active is None:
            if self._take_known(data) or self._take_ordinary(data):
                return
        elif self._plain_left:
            self._take_plain(data)
            return
        self.window_bytes += len(data)
        if self._parser is None:
            from sandbox_agent.http.http1.request_parser import RequestParser  # many servers never need it

            self._parser = RequestParser(self, self._server.services.settings.max_header_bytes)
        broken = self._parser.feed(data, is_only_request=connection.is_idle)
        if broken is not None:
            connection.refuse(broken)
            return
        self._skip_parser_for_body()
        connection.advance()
        self._place_body()
        connection.update_reading()

    def _take_known(self, data: bytes) -> bool:
        """Begin a message whose head is that of one before it, which was in order; False if it is not."""
        again = self._again
        if again is None or (found := again.match(data)) is None:
            return False
        known, length, body_at = found
        body = data[body_at:]
        if len(body) > length:
            return False  # The next request has come along.
        if len(body) < length or length > self._server.max_message_bytes:
            if READ_BYTES < length <= _PLACED_BODY_BYTES:
                # The next one is probably as long: its body comes apart from its head then, in one piece.
                self._transport.next_read = body_at
            self._take(again.head, length, body)
            return True
        connection, server = self._connection, self._server
        connection.active = exchange = Exchange(connection, server, again.head, length)
        exchange.complete = True
        exchange.extra_headers = known.headers
        try:
            post.handle(server.services, known.server_id, known.terms, body, exchange)
        except Exception as error:
            exchange.fail(error)
        return True

    def _take_ordinary(self, data: bytes) -> bool:
        """Begin a request with an ordinary head and as much of its body as is there; False if it is not."""
        read = plain_head.read(data, self._server.services.settings.max_header_bytes)
        if read is None:
            return False
        head, length = read, read.content_length or 0
        body_at = data.find(b"\r\n\r\n") + 4
        self._remember(data[:body_at], head)
        body = data[body_at:]
        if len(body) > length:
            return False  # As above.
        self._take(head, length, body)
        return True

    def _take(self, head: RequestHead, length: int, body: bytes) -> None:
        """Begin a request with what there is of its body."""
        self._connection.active = exchange = Exchange(self._connection, self._server, head, length, body)
        if len(body) < length:
            self._plain_left = length - len(body)
            self.in_message = True
            self.arriving = exchange
            self.window_bytes = 0
            self._connection.time_from_now()
            dispatch.begin(exchange, self._server)
            self._place_body()
        else:
            exchange.complete = True
            dispatch.begin(exchange, self._server)

    def _remember(self, block: bytes, head: RequestHead) -> None:
        """Know the head of a message again. Of others somebody may want to see all headers as they came."""
        is_message = head.method == "POST" and head.path.startswith(dispatch.ACP_PREFIX)
        if is_message and head.content_length is not None and self._server.request_log is None:
            self._again = CachedHead(block, head)

    def _skip_parser_for_body(self) -> None:
        """A long body of known length needs no parser, which would copy it once more."""
        exchange, waiting = self.arriving, self._connection.waiting
        if exchange is None or not waiting or waiting[-1] is not exchange:
            return
        length = exchange.content_length
        if length is None or length - exchange.body_size < _LONG_BODY_BYTES:
            return
        self._plain_left = length - exchange.body_size
        self._parser = None

    def _place_body(self) -> None:
        """A body that is kept whole is received in one piece, or the rest of it straight into its place."""
        left, exchange = self._plain_left, self.arriving
        if not left or exchange is None or not exchange.collects or left > _PLACED_BODY_BYTES:
            return
        if not exchange.body_size and (data := self._transport.read_now(left)):
            self._take_plain(data)
            left = self._plain_left
        if left:
            self._transport.fill(exchange.reserve(left))

    def filled(self, count: int) -> None:
        if self._connection.is_deaf:
            return
        self._plain_left -= count
        self.window_bytes += count
        if self._plain_left == 0:
            self.message_ended()
            self._connection.advance()
        self._connection.update_reading()

    def _take_plain(self, data: bytes) -> None:
        """A piece of a body whose length is known."""
        part = data if len(data) <= self._plain_left else data[: self._plain_left]
        self._plain_left -= len(part)
        self.window_bytes += len(part)
        self.body_arrived(part)
        if self._plain_left == 0:
            self.message_ended()
            if len(part) < len(data):
                self.data_received(data[len(part) :])
                return
            self._connection.advance()
        self._connection.update_reading()

    # ---- request_parser.Owner ----------------------------------------------------------------------------

    def message_began(self) -> None:
        self.in_message = True
        if self._connection.active is None:
            self._connection.time_from_now()

    def head_arrived(self, head: RequestHead) -> None:
        self.arriving = Exchange(self._connection, self._server, head, head.content_length)
        self.window_bytes = 0
        if self._connection.active is None:
            self._connection.time_from_now()
        self._connection.waiting.append(self.arriving)

    def body_arrived(self, data: bytes) -> None:
        if self.arriving is not None:
            self.arriving.feed(data)

    def message_ended(self) -> None:
        self.in_message = False
        if self.arriving is not None:
            self.arriving.finish_body()
            self.arriving = None
