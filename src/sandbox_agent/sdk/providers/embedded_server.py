"""A server process started by this program, which ends with it.

Starting finds the command, a free port and a random token, and waits until the server is healthy. Stopping
sends SIGTERM, then SIGKILL. The kernel ends the child when its parent dies, also by SIGKILL (Linux).
"""

from __future__ import annotations

import asyncio
import atexit
import importlib.util
import logging
import os
import secrets
import shutil
import subprocess
import sys
import threading
import weakref
from collections import deque

from sandbox_agent.sdk.errors import SpawnError
from sandbox_agent.sdk.providers.free_port import free_port, port_in_use
from sandbox_agent.sdk.providers.server_health import is_healthy
from sandbox_agent.sdk.providers.spawn_options import SpawnOptions
from sandbox_agent.sdk.transport.http_api import HttpApi

log = logging.getLogger("sandbox_agent.server")

STOP_S = 5.0
POLL_S = 0.05
# For one health request: where hundreds of servers start, the first answer of one takes seconds.
ANSWER_S = 5.0
TAIL_LINES = 50
PORT_TRIES = 3

# PR_SET_PDEATHSIG: the kernel sends SIGTERM when the parent dies. The setting survives exec, so a small
# program makes it and then becomes the server; it exits if the parent is already gone.
_PARENT_DEATH_SIGNAL = (
    "import ctypes,os,sys;"
    "ctypes.CDLL(None).prctl(1,15,0,0,0);"
    "os.getppid()==int(sys.argv[1]) or sys.exit(1);"
    "os.execvp(sys.argv[2],sys.argv[2:])"
)


class EmbeddedServer:
    """A running server process."""

    def __init__(self, process: subprocess.Popen[bytes], base_url: str, token: str, keep: bool) -> None:
        self.base_url = base_url
        self.token = token
        self._process = process
        self._owner_pid = os.getpid()
        self._tail: deque[str] = deque(maxlen=TAIL_LINES)
        self._reader = threading.Thread(target=self._drain, args=(keep,), daemon=True, name="server log")
        if process.stderr is not None:
            self._reader.start()
        _running.add(self)

    @property
    def pid(self) -> int:
        return self._process.pid

    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def tail(self) -> str:
        """The last lines the server wrote."""
        return "\n".join(self._tail)

    async def wait_healthy(self, timeout_s: float) -> None:
        """Return when the server is healthy; raise `SpawnError` if it ends or takes too long."""
        api = HttpApi(self.base_url, token=self.token, timeout=ANSWER_S, max_retries=0)
        try:
            async with asyncio.timeout(timeout_s):
                while not await is_healthy(api):
                    if not self.alive():
                        raise await self._failed("the server ended before it answered")
                    await asyncio.sleep(POLL_S)
        except TimeoutError:
            raise await self._failed(f"the server did not answer within {timeout_s:g} s") from None
        finally:
            await api.aclose()

    async def _failed(self, message: str) -> SpawnError:
        code = self._process.poll()
        await self.stop()
        ending = "" if code is None else f" (exit code {code})"
        return SpawnError(f"{message}{ending}", stderr_tail=self.tail(), exit_code=code)

    async def stop(self) -> None:
        """Send SIGTERM, and SIGKILL after 5 s."""
        await asyncio.shield(asyncio.to_thread(self.stop_now))

    def stop_now(self) -> None:
        """The blocking form of `stop`; it does nothing in a forked child, whose parent has the server."""
        _running.discard(self)
        if os.getpid() != self._owner_pid:
            return
        if self.alive():
            self._process.terminate()
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._reader.is_alive():
            self._reader.join(1.0)
        if self._process.stderr is not None and not self._reader.is_alive():
            self._process.stderr.close()

    def _drain(self, forward: bool) -> None:
        assert self._process.stderr is not None  # noqa: S101 - the thread is only started with a pipe
        rest = b""
        # Unbuffered: a forked child would wait for ever for the lock of a buffer that this thread holds.
        while data := self._process.stderr.read(65536):
            *lines, rest = (rest + data).split(b"\n")
            for raw in lines:
                self._keep(raw, forward)
        if rest:
            self._keep(rest, forward)

    def _keep(self, raw: bytes, forward: bool) -> None:
        line = raw.decode("utf-8", "replace").rstrip()
        self._tail.append(line)
        if forward:
            log.info("%s", line)


_running: weakref.WeakSet[EmbeddedServer] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_running.clear)


@atexit.register
def _stop_all() -> None:
    for server in list(_running):
        server.stop_now()


# For each event loop that starts servers: the limit on the number that start at the same time.
_start_limits: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = (
    weakref.WeakKeyDictionary()
)


def _start_limit() -> asyncio.Semaphore:
    """Limits how many servers start at once. The time limit of a start begins after this wait."""
    loop = asyncio.get_running_loop()
    return _start_limits.setdefault(loop, asyncio.Semaphore(2 * (os.cpu_count() or 1)))


async def start_server(options: SpawnOptions) -> EmbeddedServer:
    """Start a server and wait until it is healthy; raises `SpawnError` with the tail of its log."""
    tries = 1 if options.port is not None else PORT_TRIES
    for attempt in range(tries):
        async with _start_limit():
            port = options.port or free_port(options.host)
            try:
                return await _start_on(port, options)
            except SpawnError:
                # Another program may have taken the free port in the meantime.
                if attempt == tries - 1 or not port_in_use(options.host, port):
                    raise
    raise AssertionError("unreachable")


async def _start_on(port: int, options: SpawnOptions) -> EmbeddedServer:
    server = _launch(options, port)
    try:
        await server.wait_healthy(options.timeout)
    except BaseException:
        await server.stop()
        raise
    return server


def find_command(binary_path: str | None) -> list[str]:
    """The program to start: the given one, `SANDBOX_AGENT_BIN`, this installation, then `PATH`."""
    given = binary_path or os.environ.get("SANDBOX_AGENT_BIN")
    if given:
        if not os.path.exists(given):
            raise SpawnError(f"there is no server program at {given}")
        return [given]
    if importlib.util.find_spec("sandbox_agent.__main__") is not None:
        return [sys.executable, "-m", "sandbox_agent"]
    found = shutil.which("sandbox-agent")
    if found is None:
        raise SpawnError("no sandbox-agent command was found; set SANDBOX_AGENT_BIN or pass binary_path")
    return [found]


def _launch(options: SpawnOptions, port: int) -> EmbeddedServer:
    token = options.token or secrets.token_hex(24)
    command = [*find_command(options.binary_path), "server", "--host", options.host, "--port", str(port)]
    command += options.args
    if sys.platform == "linux":
        command = [sys.executable, "-I", "-S", "-c", _PARENT_DEATH_SIGNAL, str(os.getpid()), *command]
    output = None if options.log == "inherit" else subprocess.PIPE
    try:
        # Started from this thread: the parent-death signal belongs to the thread that starts the child.
        process = subprocess.Popen(  # noqa: S603 - the command is of this package
            command,
            stdin=subprocess.DEVNULL,
            stdout=output if output is None else subprocess.DEVNULL,
            stderr=output,
            # Not on the command line, which every user of the machine can read.
            env={**os.environ, **options.env, "SANDBOX_AGENT_TOKEN": token},
            bufsize=0,
            cwd=options.cwd,
            # Ctrl-C in the terminal reaches this program only, which may want to cancel just a turn.
            process_group=0,
        )
    except OSError as error:
        raise SpawnError(f"the server could not be started: {error}") from error
    host = f"[{options.host}]" if ":" in options.host else options.host
    return EmbeddedServer(process, f"http://{host}:{port}", token, options.log == "pipe")
