"""One figure per promise, measured alike on any server of this family: `python -m tests.chaos.figures`.

The server is ours, or what SANDBOX_AGENT_CONFORMANCE_COMMAND names. docs/promises.md has the figures of both.
Nothing here is a test; a server that hangs is given up after LIMIT_S and said to hang.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.support.event_stream import StreamEnded
from tests.support.processes import is_alive, resident_bytes, wait_until
from tests.support.raw_http import ConnectionClosed
from tests.support.server_process import ServerProcess

LIMIT_S = 10.0
FLOOD = 20_000


def timed(work: Callable[[], object]) -> str:
    """What came of it and after how long; a server that does not answer in time hangs."""
    began = time.monotonic()
    try:
        came = work()
    except (TimeoutError, subprocess.TimeoutExpired):
        return f"nothing in {LIMIT_S:.0f} s"
    except (ConnectionClosed, OSError):
        came = "connection cut"
    return f"{came} after {time.monotonic() - began:.1f} s"


def b_evicted_position(server: ServerProcess) -> str:
    """8,200 events later: what a reader at position 10 gets first."""
    server_id = server.acp.start()
    server.acp.call(server_id, "test/flood", {"count": 8200}, timeout=30)
    with server.acp.stream(server_id, last_event_id=10) as stream:
        first = stream.next_message()
    return f"starts with {first.kind} {first.number or first.data.decode()}, 11 would be right"


def c_slow_reader(server: ServerProcess) -> str:
    """A reader that stands still during a flood of 20,000 messages, then reads."""
    server_id = server.acp.start()
    with server.acp.stream(server_id, receive_buffer=128 * 1024) as stream:
        stream.next_message()
        server.acp.call(server_id, "test/flood", {"count": FLOOD, "size": 200}, timeout=60)
        got = gaps = 0
        try:
            while got < FLOOD:
                kind = stream.next_message(3).kind
                got, gaps = got + (kind == "message"), gaps + (kind == "gap")
        except (TimeoutError, StreamEnded):
            pass
    return f"{FLOOD - got} of {FLOOD} lost, {gaps} gap events"


def f_time_out(server: ServerProcess) -> str:
    """A request that is never answered, with a limit of two seconds (set for this server)."""
    server_id = server.acp.start()
    return timed(lambda: server.acp.send(server_id, "test/silent", timeout=LIMIT_S).status)


def g_agent_exit(server: ServerProcess) -> str:
    """A request during which the agent exits, with no limit set."""
    server_id = server.acp.start()
    return timed(lambda: server.acp.send(server_id, "test/exit", {"code": 3}, timeout=LIMIT_S).status)


def h_delete(server: ServerProcess) -> str:
    """DELETE of a living agent that has a child in a session of its own."""
    server_id = server.acp.start()
    child = server.acp.call(server_id, "test/fork_setsid")
    came = timed(lambda: server.acp.delete(server_id, timeout=LIMIT_S).status)
    try:
        wait_until(lambda: not is_alive(child), 5, "")
    except AssertionError:
        return f"{came}, child alive 5 s later"
    return f"{came}, child gone"


def k_browser(server: ServerProcess) -> str:
    """A foreign Host, a foreign Origin."""
    host = server.client.get("/v1/health", headers={"host": "rebound.example"}).status
    origin = server.client.get("/v1/health", headers={"origin": "https://evil.example"}).status
    return f"Host {host}, Origin {origin}"


def n_refused_requests(server: ServerProcess) -> str:
    """A thousand refused first POSTs with ids of 50 kB."""
    before = resident_bytes(server.pid)
    headers = {"content-type": "application/json"}
    for number in range(1000):
        path = f"/v1/acp/{number}{'x' * 50_000}"
        server.client.request("POST", path, headers=headers, body=b'{"id":1,"method":"x"}')
    return f"{(resident_bytes(server.pid) - before) / 1e6:+.0f} MB"


def p_sigterm(server: ServerProcess) -> str:
    return _stopped(server, signal.SIGTERM)


def p_sigint(server: ServerProcess) -> str:
    return _stopped(server, signal.SIGINT)


def _stopped(server: ServerProcess, number: signal.Signals) -> str:
    """A signal while an agent lives that has a child in a session of its own."""
    child = server.acp.call(server.acp.start(), "test/fork_setsid")
    server.signal(number)
    came = timed(lambda: f"exit code {server.wait_for_exit(LIMIT_S)}")
    time.sleep(1)
    return f"{came}, child {'alive' if is_alive(child) else 'gone'}"


FIGURES = [
    b_evicted_position,
    c_slow_reader,
    f_time_out,
    g_agent_exit,
    h_delete,
    k_browser,
    n_refused_requests,
    p_sigterm,
    p_sigint,
]


def main() -> None:
    for figure in FIGURES:
        settings = {"SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "2000"} if figure is f_time_out else {}
        with tempfile.TemporaryDirectory() as directory:
            server = ServerProcess(Path(directory), settings=settings)
            try:
                print(f"{figure.__name__}: {figure(server.ready())}", flush=True)
            finally:
                server.process.kill()
                server.process.wait()
                server.kill_leftovers()
    os._exit(0)  # Requests that hang have threads that would wait for them.


if __name__ == "__main__":
    main()
