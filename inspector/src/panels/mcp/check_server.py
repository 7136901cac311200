"""Connects to the MCP server of a config entry and prints its name, version and tools, or a problem, as JSON.

The page sends the source of this file as an argument of `python3 -c`, because a browser can start no process
and may call no other host. It uses the standard library only, and runs on Python 3.8. The entry is in a
variable, so that its keys are in no command line; the argument is the time limit in seconds.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any

VERSION = "2025-06-18"
ABOUT = {
    "protocolVersion": VERSION,
    "capabilities": {},
    "clientInfo": {"name": "sandbox-agent", "version": "1"},
}


class Failed(Exception):
    pass


class Server:
    """Sends requests and waits for their answers until the deadline."""

    def __init__(self, entry: dict[str, Any], deadline: float) -> None:
        self.entry, self.deadline = entry, deadline
        self.arrived: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self.ids = iter(range(1, 10))

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        number = next(self.ids)
        self.post({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        while True:
            try:
                message = self.arrived.get(timeout=max(0.01, self.deadline - time.monotonic()))
            except queue.Empty:
                raise Failed(f"The server did not answer {method} in time.{self.complaint()}") from None
            if message is None:
                raise Failed(f"The server ended before it answered {method}.{self.complaint()}")
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise Failed(f"The server refused {method}: {message['error'].get('message')}")
                result: dict[str, Any] = message.get("result") or {}
                return result

    def arrive(self, text: str) -> None:
        """A line or an event; servers that log to stdout are forgiven."""
        try:
            message = json.loads(text)
        except ValueError:
            return
        if isinstance(message, dict):
            self.arrived.put(message)

    def post(self, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def complaint(self) -> str:
        return ""

    def close(self) -> None:
        pass


class LocalServer(Server):
    def __init__(self, entry: dict[str, Any], deadline: float) -> None:
        super().__init__(entry, deadline)
        given = entry["command"]
        command = [*(given if isinstance(given, list) else [given]), *(entry.get("args") or [])]
        self.stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(  # noqa: S603 - the command is the configured one
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.stderr,
            cwd=os.path.expanduser(entry["cwd"]) if entry.get("cwd") else None,
            env={**os.environ, **(entry.get("env") or {})},
        )
        threading.Thread(target=self.read, daemon=True).start()

    def read(self) -> None:
        for line in self.process.stdout or ():
            self.arrive(line.decode(errors="replace"))
        self.arrived.put(None)

    def post(self, message: dict[str, Any]) -> None:
        if self.process.stdin is None:
            return
        # A server that has ended is reported by the reader.
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()

    def complaint(self) -> str:
        self.stderr.seek(0)
        said = self.stderr.read().decode(errors="replace").strip()[-1000:]
        return f" It wrote: {said}" if said else ""

    def close(self) -> None:
        self.process.kill()


class HttpServer(Server):
    """Streamable HTTP: each answer is the body of its POST, as JSON or as events."""

    session = ""

    def post(self, message: dict[str, Any]) -> None:
        headers = {"mcp-session-id": self.session} if self.session else {}
        with self.send(self.entry["url"], message, headers) as answer:
            self.session = answer.headers.get("mcp-session-id") or self.session
            if "event-stream" in (answer.headers.get("content-type") or ""):
                for _, data in events(answer):
                    self.arrive(data)
                    if json.loads(data or "{}").get("id") == message.get("id"):
                        break
            else:
                self.arrive(answer.read().decode(errors="replace"))

    def send(self, url: str, message: dict[str, Any] | None, more: dict[str, str]) -> Any:
        body = None if message is None else json.dumps(message).encode()
        accept = "text/event-stream" if message is None else "application/json, text/event-stream"
        headers = {"accept": accept, "content-type": "application/json", "user-agent": "sandbox-agent"}
        request = urllib.request.Request(  # noqa: S310 - the address is the configured one
            url, body, {**headers, **given_headers(self.entry), **more}
        )
        left = max(0.1, self.deadline - time.monotonic())
        return urllib.request.urlopen(request, timeout=left)  # noqa: S310


class SseServer(HttpServer):
    """The older transport: one stream of answers, which first names the address to post to."""

    def __init__(self, entry: dict[str, Any], deadline: float) -> None:
        super().__init__(entry, deadline)
        stream = events(self.send(entry["url"], None, {}))
        kind, data = next(stream, ("", ""))
        if kind != "endpoint":
            raise Failed("The address is not an SSE server: its stream names no endpoint.")
        self.address = urllib.parse.urljoin(entry["url"], data)
        threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream: Iterator[tuple[str, str]]) -> None:
        with contextlib.suppress(OSError):
            for _, data in stream:
                self.arrive(data)
        self.arrived.put(None)

    def post(self, message: dict[str, Any]) -> None:
        self.send(self.address, message, {}).close()


def given_headers(entry: dict[str, Any]) -> dict[str, str]:
    headers = dict(entry.get("headers") or {})
    for name, variable in (entry.get("envHeaders") or {}).items():
        headers[name] = os.environ.get(variable, "")
    if entry.get("bearerTokenEnvVar"):
        headers["authorization"] = f"Bearer {os.environ.get(entry['bearerTokenEnvVar'], '')}"
    return headers


def events(answer: Any) -> Iterator[tuple[str, str]]:
    """Kind and data of each event of a stream."""
    kind, data = "message", []
    for raw in answer:
        line = raw.decode(errors="replace").rstrip("\r\n")
        name, _, value = line.partition(":")
        if name == "event":
            kind = value.strip()
        elif name == "data":
            data.append(value[1:] if value.startswith(" ") else value)
        elif not line and data:
            yield kind, "\n".join(data)
            kind, data = "message", []


def connect(entry: dict[str, Any], deadline: float) -> Server:
    if entry["type"] == "local":
        return LocalServer(entry, deadline)
    return (SseServer if entry.get("transport") == "sse" else HttpServer)(entry, deadline)


def check(entry: dict[str, Any], limit_s: float) -> dict[str, Any]:
    server: Server | None = None
    try:
        server = connect(entry, time.monotonic() + limit_s)
        about = server.ask("initialize", ABOUT)
        server.post({"jsonrpc": "2.0", "method": "notifications/initialized"})
        info = about.get("serverInfo") or {}
        tools = server.ask("tools/list", {})["tools"] if "tools" in (about.get("capabilities") or {}) else []
        return {**info, "tools": [tool["name"] for tool in tools]}
    except Failed as failed:
        return {"problem": str(failed)}
    except urllib.error.HTTPError as error:
        return {"problem": f"The server answered {error.code} {error.reason}."}
    except (OSError, ValueError, KeyError) as error:
        return {"problem": f"No connection: {getattr(error, 'reason', None) or error}"}
    finally:
        if server:
            server.close()


if __name__ == "__main__":
    print(json.dumps(check(json.loads(os.environ.pop("MCP_SERVER_TO_CHECK")), float(sys.argv[1]))))
