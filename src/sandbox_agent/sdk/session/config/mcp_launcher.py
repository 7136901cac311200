"""Starts an MCP server of type `local` in the sandbox, with what ACP has no field for: `cwd` and `timeoutMs`.

The SDK sends the source of this file as an argument of `python3 -c`, because the sandbox may have no copy of
this package. It uses the standard library only, and runs on Python 3.8. Arguments: the limits as JSON, then
the command of the server.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from typing import IO, Any

TIMED_OUT = -32001


class Relay:
    """Passes lines between the agent and the server, and answers requests that take too long."""

    def __init__(self, command: list[str], limit_s: float) -> None:
        self.limit_s = limit_s
        self.server = subprocess.Popen(  # noqa: S603 - the command is the configured one
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.deadlines: dict[str, tuple[float, Any]] = {}
        self.given_up: set[str] = set()
        self.changed = threading.Condition()

    def run(self) -> int:
        """Relay until the server ends; its exit code."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda received, _: self.server.send_signal(received))
        for work in (self.read_agent, self.watch_deadlines):
            threading.Thread(target=work, daemon=True).start()
        for line in self.server.stdout or ():
            self.server_line(line)
        return self.server.wait()

    def server_line(self, line: bytes) -> None:
        """Pass a line on, unless it answers a request that was given up."""
        message = parse(line)
        with self.changed:
            if "method" not in message and "id" in message:
                key = json.dumps(message["id"])
                self.deadlines.pop(key, None)
                if key in self.given_up:
                    self.given_up.remove(key)
                    return
            write(sys.stdout.buffer, line)

    def read_agent(self) -> None:
        for line in sys.stdin.buffer:
            message = parse(line)
            if "method" in message and "id" in message:
                with self.changed:
                    key = json.dumps(message["id"])
                    self.deadlines[key] = (time.monotonic() + self.limit_s, message["id"])
                    self.changed.notify()
            self.to_server(line)
        if self.server.stdin is not None:
            self.server.stdin.close()

    def watch_deadlines(self) -> None:
        with self.changed:
            while True:
                first = min((at for at, _ in self.deadlines.values()), default=None)
                self.changed.wait(None if first is None else max(first - time.monotonic(), 0))
                for key, (at, request_id) in list(self.deadlines.items()):
                    if at <= time.monotonic():
                        del self.deadlines[key]
                        self.given_up.add(key)
                        self.give_up(request_id)

    def give_up(self, request_id: Any) -> None:
        """Answer with an error, and tell the server that the answer is not needed any more."""
        text = f"the MCP server did not answer within {self.limit_s * 1000:.0f} ms"
        error = {"code": TIMED_OUT, "message": text}
        write(sys.stdout.buffer, encode({"jsonrpc": "2.0", "id": request_id, "error": error}))
        params = {"requestId": request_id, "reason": text}
        notice = encode({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        # A server that does not read would hold up the other deadlines.
        threading.Thread(target=self.to_server, args=(notice,), daemon=True).start()

    def to_server(self, line: bytes) -> None:
        try:
            if self.server.stdin is not None:
                write(self.server.stdin, line)
        except (OSError, ValueError):
            return  # the server has ended


def parse(line: bytes) -> dict[str, Any]:
    """The message of a line; empty if it is none."""
    try:
        message = json.loads(line)
    except ValueError:
        return {}
    return message if isinstance(message, dict) else {}


def encode(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


def write(stream: IO[bytes], line: bytes) -> None:
    stream.write(line)
    stream.flush()


def main(limits: str, *command: str) -> int:
    """Start the server; without a time limit this process becomes the server."""
    given = json.loads(limits)
    if given.get("cwd") is not None:
        os.chdir(os.path.expanduser(given["cwd"]))
    if given.get("timeoutMs") is None:
        os.execvp(command[0], command)  # noqa: S606 - the command is the configured one
    return Relay(list(command), given["timeoutMs"] / 1000).run()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
