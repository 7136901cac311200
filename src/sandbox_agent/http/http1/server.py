"""Runs the application: listens, keeps the connections in order, stops for good on a signal.

Only the `server` command comes here, so this is where process-wide things are done: signal handlers, the
watchdog, the adoption of orphans. SIGTERM and SIGINT end everything within four seconds, a second one at
once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from functools import cached_property
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.http.access import is_loopback
from sandbox_agent.http.http1.connection import Connection
from sandbox_agent.http.http1.listener import Listener
from sandbox_agent.http.request_log import RequestLog
from sandbox_agent.http.services import Services
from sandbox_agent.runtime import running_loop
from sandbox_agent.runtime.loop import Loop
from sandbox_agent.settings import SettingsError

if TYPE_CHECKING:
    import asyncio

    from sandbox_agent.bridge.process.watchdog import Watchdog
    from sandbox_agent.http.app import App
    from sandbox_agent.runtime.loop import LoopTimer
    from sandbox_agent.settings import Settings

logger = logs.Log("sandbox_agent.server")

_TICK_S = 1.0
# The published SDK sends SIGKILL after five seconds; what is not stopped by then is left to the watchdog.
_STOP_LIMIT_S = 3.5
_LAST_WRITES_S = 0.3
_COLLECTOR_THRESHOLDS = (10_000, 20, 20)
# How long the loop waits for a worker thread to let go of the interpreter; messages should not feel it.
_SWITCH_INTERVAL_S = 0.0003
# After so many ended streams it is worth the time to give their memory back.
_MANY_STREAMS = 32
# What else comes with the first agent can wait for a moment; the agent's first answer should not.
_SETTLE_IN_AFTER_S = 0.05


class HttpServer:
    def __init__(self, services: Services, loop: Loop) -> None:
        self.services = services
        self.connections: set[Connection] = set()
        self._last_connection: asyncio.Future[None] | None = None
        self.tasks: set[asyncio.Task[None]] = set()
        self.request_log = RequestLog.from_environment(os.environ)
        self.max_message_bytes = services.settings.max_message_bytes
        self.stopping = False
        self.loop = loop
        self.now = loop.time
        self._listener: Listener | None = None
        self._ticker: LoopTimer | None = None

    @cached_property
    def app(self) -> App:
        """What answers everything that has no quick way."""
        from sandbox_agent.http.app import App

        return App(self.services)

    def start(self, host: str, port: int) -> int:
        """Listen; returns the port. Raises OSError."""
        self._listener = Listener(self.loop, host.strip("[]"), port, lambda sock: Connection(self, sock))
        self._ticker = self.loop.call_later(_TICK_S, self._tick)
        return self._listener.port

    def forget(self, connection: Connection) -> None:
        self.connections.discard(connection)
        last = self._last_connection
        if last is not None and not self.connections and not last.done():
            last.set_result(None)

    def _tick(self) -> None:
        # First of all, so that no fault of one connection ends the watch over all others.
        self._ticker = self.loop.call_later(_TICK_S, self._tick)
        now = self.now()
        for connection in list(self.connections):
            connection.check_time(now)
        if self.services.streams.ended >= _MANY_STREAMS:
            from sandbox_agent.runtime import malloc

            self.services.streams.ended = 0
            self.loop.in_thread(malloc.trim, lambda *_: None)

    async def stop(self) -> None:
        """Stop accepting, end streams and agents, let the last answers go out."""
        import asyncio  # who awaits has loaded it

        self.stopping = True
        if self._listener is not None:
            self._listener.close()
        for connection in list(self.connections):
            connection.close_if_idle()
        await self.services.shutdown()
        if self.connections:
            self._last_connection = asyncio.get_running_loop().create_future()
            await asyncio.wait([self._last_connection], timeout=_LAST_WRITES_S)
        if self._ticker is not None:
            self._ticker.cancel()
        for connection in list(self.connections):
            connection.abort()


def serve(settings: Settings) -> None:
    """Serve until a signal says stop. Raises OSError when the address cannot be had."""
    loop = Loop(settings.busy_poll_us / 1_000_000)
    running_loop.set_server_loop(loop)
    services = Services(settings)
    server = HttpServer(services, loop)
    port = server.start(settings.host, settings.port)
    watchdogs: list[Watchdog] = []
    _stop_on_signals(server, watchdogs)

    def on_first_agent() -> None:
        from sandbox_agent.bridge.process.watchdog import Watchdog

        watchdogs.append(Watchdog(services.instances.starter.server_tag))
        loop.call_later(_SETTLE_IN_AFTER_S, _settle_in, services, loop)

    services.instances.starter.on_first_agent = on_first_agent
    _announce(settings, port)
    _calm_collector()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    loop.in_thread(services.claim_spill_directory, lambda *_: None)
    loop.run()


async def _stop(server: HttpServer, watchdogs: list[Watchdog]) -> None:
    import asyncio

    logger.info("server.stopping")
    try:
        await asyncio.wait_for(server.stop(), _STOP_LIMIT_S)
    except TimeoutError:
        logger.warning("server.stopped_late")  # The watchdog ends what is left.
    else:
        for process in watchdogs:
            process.dismiss()
        logger.info("server.stopped")


def _settle_in(services: Services, loop: Loop) -> None:
    from sandbox_agent.bridge.process.subreaper import adopt_orphans
    from sandbox_agent.runtime import malloc

    adopt_orphans(services.instances, loop)
    malloc.reuse_large_blocks()


def _calm_collector() -> None:
    """What was loaded at start stays, and messages make no cycles: the search for garbage can be rare."""
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
    gc.enable()


def _stop_on_signals(server: HttpServer, watchdogs: list[Watchdog]) -> None:
    loop = server.loop
    asked = False

    def stop_in_task() -> None:
        import asyncio  # `when_asyncio` has loaded it

        task = asyncio.create_task(_stop(server, watchdogs))
        server.tasks.add(task)
        task.add_done_callback(lambda _: loop.stop())

    def on_signal() -> None:
        nonlocal asked
        if asked:
            os._exit(1)  # Asked twice: the watchdog ends the agents.
        asked = True
        loop.when_asyncio(stop_in_task)

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.on_signal(number, on_signal)


def _announce(settings: Settings, port: int) -> None:
    host = settings.host if ":" not in settings.host else f"[{settings.host.strip('[]')}]"
    url = f"http://{host}:{port}"
    logger.info("server.listening", url=url, inspector=f"{url}/ui/")
    if settings.token is None:
        everybody = "" if is_loopback(settings.host) else " to everybody who can reach this address"
        logger.warning("server.open", note=f"no token: the server is open{everybody}")


def check_exposure(settings: Settings) -> None:
    """An address that others can reach needs a token, or a clear word that it is to be open."""
    if settings.token is None and not settings.no_token and not is_loopback(settings.host):
        raise SettingsError(
            f"listening on {settings.host} without a token would open this machine to everybody; "
            "set a token (--token-file, SANDBOX_AGENT_TOKEN) or say --no-token"
        )
