"""The server command: serve until a signal says stop.

Everything that concerns the whole process is done here: signal handlers, the watchdog, the adoption of
orphans, the garbage collector. SIGTERM and SIGINT end everything within four seconds, a second one at once.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.process.tree.control_group import ServerGroups
from sandbox_agent.bridge.process.watchdog_keeper import WatchdogKeeper
from sandbox_agent.http.access.access_check import COMMON_HEADERS
from sandbox_agent.http.direct_routes import DirectRoutes
from sandbox_agent.http.http1.options import Http1Options
from sandbox_agent.http.http1.server import RESERVED_DESCRIPTORS, Http1Server
from sandbox_agent.http.loopback import is_loopback
from sandbox_agent.http.services import Services
from sandbox_agent.runtime import descriptors, running_loop
from sandbox_agent.runtime.loop import Loop
from sandbox_agent.runtime.memory_release import MemoryRelease
from sandbox_agent.settings import SettingsError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping

    from sandbox_agent.http.http1.request_head import RequestHead
    from sandbox_agent.settings import Settings

logger = logs.Log("sandbox_agent.server")

# The published SDK sends SIGKILL after five seconds; what is not stopped by then is left to the watchdog.
_STOP_LIMIT_S = 3.5
_LAST_WRITES_S = 0.3
_COLLECTOR_THRESHOLDS = (10_000, 20, 20)
# Bounds how long the loop waits for a worker thread to release the interpreter lock.
_SWITCH_INTERVAL_S = 0.0003
# Ended streams count for the return of memory by this many; a single one holds little.
_MANY_STREAMS = 32
# For loading asyncio, or answering a connection, when no other descriptor is left.
_HELD_DESCRIPTORS = 6
# The most descriptors that an instance has open, without spilled events: three pipes, a pidfd, and a file of
# clients' messages.
_DESCRIPTORS_PER_INSTANCE = 5
# The first health checks wait neither for ctypes, nor for the check of tags, which may start a process.
_ADOPT_AFTER_S, _CHECK_TAGS_AFTER_S = 0.05, 0.1


class Server:
    """The HTTP/1.1 server with the services behind it."""

    def __init__(self, services: Services, loop: Loop) -> None:
        self.services = services
        self.loop = loop
        options = Http1Options(
            max_header_bytes=services.settings.max_header_bytes,
            request_timeout_s=services.settings.request_timeout_ms / 1000,
            keep_alive_s=services.settings.keep_alive_ms / 1000,
            write_timeout_s=services.settings.write_timeout_ms / 1000,
            websocket_max_bytes=services.settings.max_message_bytes,
            websocket_ping_s=services.settings.websocket_ping_ms / 1000,
            problem_headers=COMMON_HEADERS,
            on_response=_request_log(os.environ),
        )
        self.routes = DirectRoutes(services, loop)
        self.http = Http1Server(loop, self.routes, options)
        MemoryRelease(loop, lambda: services.instances.ended + services.streams.ended // _MANY_STREAMS)

    async def stop(self) -> None:
        """Stop accepting, end streams and agents, let the last responses go out."""
        self.http.stop_accepting()
        await self.services.shutdown()
        await self.http.close(_LAST_WRITES_S)


def _request_log(environ: Mapping[str, str]) -> Callable[[RequestHead, int], None] | None:
    if environ.get("SANDBOX_AGENT_LOG_HTTP", "0") in ("", "0"):
        return None
    from sandbox_agent.http.request_log import RequestLog  # few servers log requests

    return RequestLog(with_headers=bool(environ.get("SANDBOX_AGENT_LOG_HTTP_HEADERS"))).write


def serve(settings: Settings) -> None:
    """Serve until a signal says stop. Raises OSError if the address cannot be bound."""
    descriptors.raise_limit()
    loop = Loop(settings.busy_poll_us / 1_000_000, reserved_descriptors=_HELD_DESCRIPTORS)
    running_loop.set_server_loop(loop)
    services = Services(settings)
    server = Server(services, loop)
    port = server.http.start(settings.host, settings.port)
    services.local_url = _local_url(settings.host, port)
    keeper = WatchdogKeeper(services.instances.starter.server_tag, loop)
    stop = _stop_on_signals(server, keeper)
    if settings.lease_s:
        from sandbox_agent.http.lease import Lease

        server.routes.lease = Lease(float(settings.lease_s), loop, server.http, stop)
    _prepare_for_agents(services, keeper, loop)
    _announce(settings, port)
    _check_limits(settings)
    _relax_garbage_collector()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    loop.in_thread(services.claim_spill_directory, lambda *_: None)
    if settings.warm:
        loop.call_soon(services.instances.start_warm)
    loop.run()


async def _stop(server: Server, keeper: WatchdogKeeper) -> None:
    import asyncio

    logger.info("server.stopping")
    try:
        await asyncio.wait_for(server.stop(), _STOP_LIMIT_S)
    except TimeoutError:
        logger.warning("server.stopped_late")  # The watchdog ends what is left.
    else:
        keeper.dismiss()
        logger.info("server.stopped")


def _prepare_for_agents(services: Services, keeper: WatchdogKeeper, loop: Loop) -> None:
    """Adopt orphans before the first agent starts, and check whether processes can be tagged."""
    starter, limits = services.instances.starter, services.instances.process_limits
    starter.trees.adopt_orphans()
    starter.groups = ServerGroups(starter.server_tag)

    def adopt_orphans() -> None:
        if starter.before_first_agent is not None:
            starter.before_first_agent = None
            from sandbox_agent.bridge.process.tree import subreaper  # loads ctypes: 3 ms
            from sandbox_agent.runtime import malloc

            malloc.share_one_heap()
            subreaper.become_subreaper()
            subreaper.watch_children(services.instances, keeper, loop)

    def check_tags() -> bool:
        from sandbox_agent.bridge.process.tree.tag_check import tags_can_be_set

        return tags_can_be_set(limits, starter.server_tag)

    def report_tags(can_be_set: bool | None, _: BaseException | None) -> None:
        if not can_be_set:
            starter.trees.have_tags = False
            logger.warning(
                "process_tags.unavailable",
                note="RLIMIT_LOCKS cannot be set or read here: if the server is killed, processes that an "
                "agent has just started may survive",
            )

    starter.before_first_agent = adopt_orphans
    starter.on_first_agent = keeper.start
    loop.call_later(_ADOPT_AFTER_S, adopt_orphans)
    loop.call_later(_CHECK_TAGS_AFTER_S, loop.in_thread, check_tags, report_tags)


def _relax_garbage_collector() -> None:
    """Collect rarely: what was loaded at start stays, and messages make no reference cycles."""
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)


def _stop_on_signals(server: Server, keeper: WatchdogKeeper) -> Callable[[], None]:
    """Stop on SIGTERM and SIGINT; the function returned does the same."""
    loop = server.loop
    asked = False
    stop_tasks: list[asyncio.Task[None]] = []  # the event loop itself refers to tasks weakly

    def stop_in_task() -> None:
        import asyncio  # loaded by `when_asyncio`

        task = asyncio.create_task(_stop(server, keeper))
        stop_tasks.append(task)
        task.add_done_callback(lambda _: loop.stop())

    def on_signal() -> None:
        nonlocal asked
        if asked:
            os._exit(1)  # The watchdog ends the agents.
        asked = True
        try:
            loop.when_asyncio(stop_in_task)
        except Exception:
            logger.exception("server.stopped_early")  # as above
            loop.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.on_signal(number, on_signal)
    return on_signal


def _url(host: str, port: int) -> str:
    return f"http://{host}:{port}" if ":" not in host else f"http://[{host.strip('[]')}]:{port}"


def _local_url(host: str, port: int) -> str:
    """The address for programs on this machine."""
    everywhere = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1", "[::]": "::1"}  # noqa: S104 - compared
    return _url(everywhere.get(host, host), port)


def _announce(settings: Settings, port: int) -> None:
    url = _url(settings.host, port)
    logger.info("server.listening", url=url, inspector=f"{url}/ui/")
    if settings.token is None:
        reach = "" if is_loopback(settings.host) else " to every program that can reach this address"
        logger.warning("server.open", note=f"no token: the server is open{reach}")


def _check_limits(settings: Settings) -> None:
    """Say at start which settings cannot be reached, not with the instance that does not start."""
    needed = settings.max_instances * _DESCRIPTORS_PER_INSTANCE + settings.max_streams + RESERVED_DESCRIPTORS
    if needed > (limit := descriptors.limit()):
        note = (
            f"--max-instances and --max-streams need {needed} file descriptors; `ulimit -Hn` allows {limit}"
        )
        logger.warning("limits.unreachable", note=note)


def check_exposure(settings: Settings) -> None:
    """Refuse an address that other machines can reach without a token or `--no-token`."""
    if settings.token is None and not settings.no_token and not is_loopback(settings.host):
        raise SettingsError(
            f"listening on {settings.host} without a token would open this machine to the network; "
            "set a token (--token-file, SANDBOX_AGENT_TOKEN) or say --no-token"
        )
