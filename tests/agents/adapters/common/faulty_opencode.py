"""A minimal fake `opencode serve` with one session, whose turn ends as `behaviour` says.

midway     sends a chunk of text and an unknown event, then is killed by a signal
mute       accepts the prompt and sends nothing more
babble     sends lines on its event stream that are not events, then exits with 0
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSION = {"id": "ses_1", "directory": "/", "title": "t", "time": {"created": 1, "updated": 1}}
ANSWERS: dict[str, Any] = {
    "/session": SESSION,
    "/config/providers": {"providers": []},
    "/agent": [],
    "/config": {},
}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    behaviour: str
    prompted: queue.Queue[bool]

    def log_message(self, *_: Any) -> None:
        """Quiet."""

    def do_GET(self) -> None:
        if self.path.startswith("/event"):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            self.write({"type": "server.connected", "properties": {}})
            self.prompted.get()
            self.misbehave()
        else:
            self.answer()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        self.answer()
        if "prompt_async" in self.path:
            self.prompted.put(True)

    def answer(self) -> None:
        data = json.dumps(ANSWERS.get(self.path.partition("?")[0], True)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def write(self, event: Any) -> None:
        self.wfile.write(
            b"data: %b\n\n" % (event if isinstance(event, bytes) else json.dumps(event).encode())
        )
        self.wfile.flush()

    def misbehave(self) -> None:
        if self.behaviour == "midway":
            part = {"sessionID": "ses_1", "messageID": "m-1", "partID": "p-1", "field": "text"}
            self.write({"type": "message.part.delta", "properties": {**part, "delta": "so far "}})
            self.write({"type": "from.the.future", "properties": {"sessionID": "ses_1"}, "news": 1})
            os.kill(os.getpid(), signal.SIGKILL)
        elif self.behaviour == "babble":
            self.write(b"\xff this is no JSON")
            self.write([1, 2])
            os._exit(0)
        else:
            self.prompted.get()


def serve(behaviour: str) -> None:
    Handler.behaviour, Handler.prompted = behaviour, queue.Queue()
    port = int(sys.argv[sys.argv.index("--port") + 1])
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    print(f"opencode server listening on http://127.0.0.1:{port}", flush=True)
    server.serve_forever()
