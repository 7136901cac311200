"""The HTTP side of the fake model: one loopback port for all APIs, one thread per connection."""

from __future__ import annotations

import gzip
import json
import threading
import time
from collections import deque
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any

from . import anthropic_messages, gemini, openai_chat, openai_responses
from .amp_backend import AmpBackend
from .script import INPUT_TOKENS, answer
from .sse import Frame

_MODELS = ("fake-model", "gpt-5.6-luna")
_ERROR_TYPES = {401: "authentication_error", 429: "rate_limit_error", 529: "overloaded_error"}


class FakeModel:
    """Use as a context manager; `base` is the address for the agents."""

    def __init__(self) -> None:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[str]:
        """The requested paths so far, for a test's error message."""
        return list(self._server.seen)

    @property
    def prompts(self) -> list[str]:
        """The last 300 characters of the requests that a model has answered, each with its usage."""
        return list(self._server.answered)

    def was_sent(self, text: str) -> bool:
        """Whether one of the last requests contained `text`, for example the data of an image."""
        return any(text in json.dumps(body) for body in list(self._server.bodies))

    def __enter__(self) -> FakeModel:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.amp = AmpBackend()
        self.seen: list[str] = []
        self.answered: list[str] = []
        self.bodies: deque[dict[str, Any]] = deque(maxlen=100)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A cancelled turn closes the connection, which is not an error."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self.server.seen.append(f"GET {self.path}")
        if self.headers.get("upgrade"):
            self._json(426, {"error": {"message": "no websockets here"}})
        elif "/models" in self.path:
            name = self.path.partition("?")[0].rpartition("/models")[2].strip("/")
            self._json(200, _model(name) if name else _model_list())
        else:
            self._json(404, {"error": {"message": "not found"}})

    def do_POST(self) -> None:
        self.server.seen.append(f"POST {self.path}")
        body = self._body()
        self.server.bodies.append(body)
        path = self.path.partition("?")[0]
        if path.endswith("/api/internal"):
            self._json(200, self.server.amp.answer(body))
        elif path.endswith(("/count_tokens", ":countTokens")):
            self._json(200, {"input_tokens": INPUT_TOKENS, "totalTokens": INPUT_TOKENS})
        elif path.endswith("/messages"):
            self._model(anthropic_messages, body, bool(body.get("stream")))
        elif path.endswith("/chat/completions"):
            self._model(openai_chat, body, bool(body.get("stream")))
        elif path.endswith("/responses"):
            self._model(openai_responses, body, bool(body.get("stream")))
        elif path.endswith((":generateContent", ":streamGenerateContent")):
            self._model(gemini, body, "stream" in path.rpartition(":")[2])
        else:
            self._json(404, {"error": {"message": "not found"}})

    def _model(self, api: ModuleType, body: dict[str, Any], streamed: bool) -> None:
        messages, tools = api.read(body)
        reply = answer(messages, tools)
        if reply.error is None:
            self.server.answered.append(messages[-1].text[-300:] if messages else "")
        if reply.error is not None:
            kind = _ERROR_TYPES.get(reply.error, "api_error")
            error = {"type": kind, "message": f"the script asked for {reply.error}", "code": kind}
            self._json(reply.error, {"type": "error", "error": error})
        elif streamed:
            self._stream(api.stream(body, reply))
        else:
            self._json(200, api.plain(body, reply))

    def _stream(self, frames: Iterator[Frame]) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for frame in frames:
            if frame.pause_s:
                self.wfile.flush()
                time.sleep(frame.pause_s)
            data = frame.encode()
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.write(b"0\r\n\r\n")

    def _json(self, status: int, document: Any) -> None:
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _body(self) -> dict[str, Any]:
        if "chunked" in self.headers.get("transfer-encoding", ""):
            data = b"".join(self._chunks())
        else:
            data = self.rfile.read(int(self.headers.get("content-length", 0)))
        encoding = self.headers.get("content-encoding", "")
        if encoding == "gzip":
            data = gzip.decompress(data)
        elif encoding == "zstd":
            import zstandard

            data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
        document = json.loads(data or b"{}")
        return document if isinstance(document, dict) else {}

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()


def _model(name: str) -> dict[str, Any]:
    return {
        "id": name,
        "object": "model",
        "type": "model",
        "display_name": name,
        "created": 1_700_000_000,
        "created_at": "2025-01-01T00:00:00Z",
        "owned_by": "fake",
    }


def _model_list() -> dict[str, Any]:
    data = [_model(name) for name in _MODELS]
    return {"object": "list", "data": data, "has_more": False, "first_id": _MODELS[0], "last_id": _MODELS[-1]}
