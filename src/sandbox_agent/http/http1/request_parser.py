"""HTTP/1.1 as httptools reads it: every request that is not entirely ordinary (see `plain_head`).

Loaded with the first such request. The parser knows the registered methods only; a request with another is
read as if it had a known one, and is the last on its connection.
"""

from __future__ import annotations

import re
from typing import Protocol

import httptools

from sandbox_agent.errors import HeadersTooLarge, InvalidRequest, SandboxAgentError
from sandbox_agent.http.http1.heads import RequestHead
from sandbox_agent.http.messages import HeaderList

_MADE_UP_METHOD = re.compile(rb"([A-Z][A-Z-]{0,31}) /[!-~]* HTTP/1\.1\r\n")
_STAND_IN_METHOD = b"TRACE"


class Owner(Protocol):
    """Who is told what has been read."""

    def message_began(self) -> None: ...

    def head_arrived(self, head: RequestHead) -> None: ...

    def body_arrived(self, data: bytes) -> None: ...

    def message_ended(self) -> None: ...


class RequestParser:
    def __init__(self, owner: Owner, max_header_bytes: int) -> None:
        self._owner = owner
        self._max_header_bytes = max_header_bytes
        self._parser = httptools.HttpRequestParser(self)
        self._target = b""
        self._headers: HeaderList = []
        self._in_message = False
        self._head_complete = False
        self._head_bytes = 0
        self._made_up_method: bytes | None = None
        self._may_be_made_up = False
        """Whether nothing but the beginning of one request can have been fed since the last answer."""
        self._broken: SandboxAgentError | None = None

    def close(self) -> None:
        """Let go of the parser, which holds bound methods of ours: a cycle for the collector."""
        self._parser = None  # type: ignore[assignment]  # nothing is fed afterwards

    def feed(self, data: bytes, *, is_only_request: bool) -> SandboxAgentError | None:
        """Read on; returns what makes it impossible to go on after this."""
        if not self._head_complete:
            self._head_bytes += len(data)
        self._may_be_made_up = is_only_request
        self._feed(data)
        in_head = self._in_message and not self._head_complete
        if in_head and self._head_bytes > self._max_header_bytes:
            self._break(HeadersTooLarge(self._max_header_bytes))
        return self._broken

    def _feed(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            # We speak HTTP/1.1 only and say so by ignoring the wish.
            self._parser = httptools.HttpRequestParser(self)
            rest = data[upgrade.args[0] :]
            if rest:
                self._feed(rest)
        except httptools.HttpParserInvalidMethodError as error:
            if self._made_up_method:
                return
            request = _MADE_UP_METHOD.match(data)
            if request is None or not self._may_be_made_up:
                self._break(InvalidRequest(f"not HTTP/1.1: {error}"))
                return
            self._made_up_method = request[1]
            self._may_be_made_up = False
            self._parser = httptools.HttpRequestParser(self)
            self._feed(_STAND_IN_METHOD + data[request.end(1) :])
        except httptools.HttpParserError as error:
            self._break(InvalidRequest(f"not HTTP/1.1: {error}"))

    def _break(self, error: SandboxAgentError) -> None:
        self._broken = self._broken or error

    # ---- httptools ---------------------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        self._in_message, self._head_complete = True, False
        self._target, self._headers = b"", []
        self._owner.message_began()

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        self._head_complete, self._may_be_made_up = True, False
        self._head_bytes = 0
        size = len(self._target) + sum(len(name) + len(value) + 4 for name, value in self._headers)
        if size > self._max_header_bytes:
            self._break(HeadersTooLarge(self._max_header_bytes))
            return
        parser = self._parser
        self._owner.head_arrived(
            RequestHead(
                (self._made_up_method or parser.get_method()).decode("ascii"),
                self._target,
                self._headers,
                http_10=parser.get_http_version() == "1.0",
                keep_alive=parser.should_keep_alive() and self._made_up_method is None,
            )
        )

    def on_body(self, body: bytes) -> None:
        self._owner.body_arrived(body)

    def on_message_complete(self) -> None:
        self._in_message = self._head_complete = False
        self._owner.message_ended()
