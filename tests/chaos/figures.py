"""One figure per promise, measured alike on any server of this family: `python -m tests.chaos.figures`.

The server is ours, or what SANDBOX_AGENT_CONFORMANCE_COMMAND names. docs/promises.md has the figures of both.
Nothing here is a test; a server that hangs is given up after LIMIT_S and said to hang.
"""

from __future__ import annotations

import io
import os
import signal
import tarfile
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.chaos import stream_figures
from tests.chaos.timing import LIMIT_S, timed
from tests.support.clients.acp import AGENT
from tests.support.processes import is_alive, resident_bytes, wait_until
from tests.support.server_process import ServerProcess

SHORT_LIMIT = {"SANDBOX_AGENT_ACP_REQUEST_TIMEOUT_MS": "2000"}


def d_full_stdin(server: ServerProcess) -> str:
    """A message of a megabyte to an agent that does not read, limit two seconds; and one to its neighbour."""
    deaf, other = server.acp.start(), server.acp.start()
    server.acp.call(deaf, "test/stop_reading")
    pad = {"pad": "x" * 1_000_000}
    waiting = server.acp.in_background(
        timed, lambda: server.acp.send(deaf, "test/echo", pad, timeout=LIMIT_S).status
    )
    neighbour = timed(lambda: server.acp.send(other, "test/echo", timeout=LIMIT_S).status)
    return f"{waiting.result(LIMIT_S + 5)}; the neighbour: {neighbour}"


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


def i_one_start(server: ServerProcess) -> str:
    """Fifty first POSTs to one id at once."""
    acp = server.acp
    posts = [
        acp.in_background(acp.send, "same", "test/echo", agent=AGENT, timeout=LIMIT_S) for _ in range(50)
    ]
    answers = [post.result(LIMIT_S + 5) for post in posts]
    pids = {answer.json()["result"]["pid"] for answer in answers if answer.status == 200}
    return f"{sum(answer.status == 200 for answer in answers)} answered, by {len(pids)} process"


def j_token(server: ServerProcess) -> str:
    """The scheme in lower case, and whether agents can read the token in their own environment."""
    status = server.client.get(
        "/v1/health", headers={"authorization": f"bearer {server.token}"}, authorized=False
    ).status
    environment = server.acp.call(server.acp.start(), "test/info")["env"]
    return f"bearer: {status}; in the agent's environment: {server.token in environment.values()}"


def k_browser(server: ServerProcess) -> str:
    """A foreign Host, a foreign Origin, a picture in a page of another site."""
    host = server.client.get("/v1/health", headers={"host": "rebound.example"}).status
    origin = server.client.get("/v1/health", headers={"origin": "https://evil.example"}).status
    site = server.client.get("/v1/health", headers={"sec-fetch-site": "cross-site"}).status
    return f"Host {host}, Origin {origin}, Sec-Fetch-Site {site}"


def l_blocking_file(server: ServerProcess) -> str:
    """Five writes into a FIFO without a reader, then health."""
    os.mkfifo(server.home / "fifo")
    path = f"/v1/fs/file?path={server.home}/fifo"
    for _ in range(5):
        server.acp.in_background(server.client.request, "PUT", path, body=b"x", timeout=LIMIT_S)
    time.sleep(0.5)  # no server of this family tells when the writes have begun
    return "health: " + timed(lambda: server.client.get("/v1/health", timeout=LIMIT_S).status)


def m_archive(server: ServerProcess) -> str:
    """An archive with a link that leads out and a file behind it."""
    outside = server.home.parent / "outside"
    outside.mkdir()
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        link, file = tarfile.TarInfo("out"), tarfile.TarInfo("out/evil")
        link.type, link.linkname = tarfile.SYMTYPE, str(outside)
        file.size = 4
        archive.addfile(link)
        archive.addfile(file, io.BytesIO(b"evil"))
    path = f"/v1/fs/upload-batch?path={server.home}/unpacked"
    headers = {"content-type": "application/x-tar"}
    status = server.client.request("POST", path, headers=headers, body=data.getvalue()).status
    return f"{status}, written outside: {(outside / 'evil').exists()}"


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
    with suppress(AssertionError):
        wait_until(lambda: not is_alive(child), 1, "the end of the child")
    return f"{came}, child {'alive' if is_alive(child) else 'gone'}"


FIGURES: list[Callable[[ServerProcess], str]] = [
    *stream_figures.FIGURES,
    d_full_stdin,
    f_time_out,
    g_agent_exit,
    h_delete,
    i_one_start,
    j_token,
    k_browser,
    l_blocking_file,
    m_archive,
    n_refused_requests,
    p_sigterm,
    p_sigint,
]


def main() -> None:
    for figure in sorted(FIGURES, key=lambda figure: figure.__name__):
        settings = SHORT_LIMIT if figure in (d_full_stdin, f_time_out) else {}
        with tempfile.TemporaryDirectory() as directory:
            server = ServerProcess(Path(directory), settings=settings)
            try:
                print(f"{figure.__name__}: {figure(server.ready())}", flush=True)
            except Exception as error:
                print(f"{figure.__name__}: {type(error).__name__}: {error}"[:300], flush=True)
            finally:
                server.process.kill()
                server.process.wait()
                server.kill_leftovers()
    os._exit(0)  # Requests that hang have threads that would wait for them.


if __name__ == "__main__":
    main()
