"""All instances of a server: lazy start, restart, close, the memory of closed ids, shutdown.

Which instance takes a POST is decided in one step of the event loop, so fifty simultaneous first POSTs start
one process. Starting and stopping run in tasks of their own; a DELETE waits for a stop at most
DELETE_ANSWER_S.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.agent_starter import AgentStarter
from sandbox_agent.bridge.instance import Instance
from sandbox_agent.bridge.log_factory import LogFactory
from sandbox_agent.bridge.process.limits import ProcessLimits
from sandbox_agent.bridge.process.tree.running_trees import RunningTrees
from sandbox_agent.bridge.process.tree.tree_sweeper import TreeSweeper
from sandbox_agent.errors import (
    Conflict,
    InternalError,
    InvalidRequest,
    SandboxAgentError,
    ServerStopping,
    SessionNotFound,
    TooManyInstances,
)
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Coroutine, Iterator, Sequence
    from typing import Any

    from sandbox_agent.bridge.agent_starter import Bootstrap, Launcher
    from sandbox_agent.bridge.eventlog.event_log import Retention
    from sandbox_agent.bridge.idle_instances import IdleInstances
    from sandbox_agent.bridge.instance_limits import InstanceLimits
    from sandbox_agent.bridge.process.agent_process import AgentProcess
    from sandbox_agent.bridge.warm_pool import WarmProcess
    from sandbox_agent.bridge.warm_target import WarmTarget

# DELETE has to answer within 1.5 s; the difference is left for the network and a busy machine.
DELETE_ANSWER_S = 1.2
_REMEMBERED_CLOSED_IDS = 100_000

logger = logs.Log("sandbox_agent.bridge")


class BridgeSettings:
    def __init__(
        self,
        *,
        limits: InstanceLimits,
        retention: Retention,
        spill_directory: str | None,
        spill_max_bytes: int,
        max_instances: int,
        idle_timeout_s: float = 0.0,
        process_limits: ProcessLimits | None = None,
        warm: Sequence[WarmTarget] = (),
        warm_idle_s: float = 0.0,
    ) -> None:
        """After `idle_timeout_s` without messages, calls and subscribers an instance is closed; 0: never."""
        self.limits = limits
        self.retention = retention
        self.spill_directory = spill_directory
        self.spill_max_bytes = spill_max_bytes
        self.max_instances = max_instances
        self.idle_timeout_s = idle_timeout_s
        self.process_limits = process_limits or ProcessLimits()
        self.warm = warm
        self.warm_idle_s = warm_idle_s


class InstanceRegistry:
    def __init__(self, settings: BridgeSettings, launcher: Launcher) -> None:
        self._settings = settings
        self.process_limits = settings.process_limits
        self.logs = LogFactory(settings.spill_directory, settings.spill_max_bytes)
        self._sweeper = TreeSweeper(RunningTrees())
        self.starter = AgentStarter(
            launcher,
            self._sweeper,
            self.process_limits,
            settings.limits.max_line_bytes,
            self._start_failed,
        )
        self._launcher = launcher
        self._instances: dict[str, Instance] = {}
        self._closed: OrderedDict[str, int] = OrderedDict()
        self._background: set[asyncio.Task[None]] = set()
        self.ended = 0
        """Instances that have been closed, or whose agent has exited, so far."""
        self._stopping = False
        self._idle_instances: IdleInstances | None = None
        self.exit_listeners: list[Callable[[Instance], None]] = []
        """Called when an agent has exited by itself, after its last message was published."""
        self.close_listeners: list[Callable[[Instance], None]] = []
        """Called when an instance is closed: its id may be taken by another one."""
        self.find_expendable: Callable[[], str | None] | None = None
        """The server_id to close when the limit of instances is reached; None if there is none."""

    def start_warm(self) -> None:
        """Start the processes of `--warm`. Called when the server listens."""
        if self._settings.warm and not self._stopping:
            from sandbox_agent.bridge.warm_pool import WarmPool  # only with --warm

            self.starter.warm = WarmPool(
                self._settings.warm,
                self._settings.warm_idle_s,
                self._launcher,
                self.starter.spawn,
                lambda process: running_loop.when_asyncio(lambda: self._in_task(process.stop())),
            )
            self.starter.warm.start()

    @property
    def warm_processes(self) -> list[WarmProcess]:
        return list(self.starter.warm) if self.starter.warm is not None else []

    def __iter__(self) -> Iterator[Instance]:
        return iter([self._instances[key] for key in sorted(self._instances)])

    def __len__(self) -> int:
        return len(self._instances)

    def find(self, server_id: str) -> list[Instance]:
        """The instance with this id, or nothing."""
        return [self._instances[server_id]] if server_id in self._instances else []

    def get(self, server_id: str) -> Instance:
        instance = self._instances.get(server_id)
        if instance is None:
            raise SessionNotFound(server_id)
        return instance

    def for_post(self, server_id: str, bootstrap: Bootstrap | None) -> Instance:
        """The instance that takes a POST, started if the request asks for it."""
        instance = self._instances.get(server_id)
        if instance is None:
            return self._create(server_id, bootstrap)
        if bootstrap is not None and bootstrap.agent != instance.agent:
            raise Conflict(
                f"server '{server_id}' already exists for agent '{instance.agent}'; "
                f"requested '{bootstrap.agent}'"
            )
        if instance.status == "exited":
            if bootstrap is None:
                raise instance.exit_error()
            self._start(instance, bootstrap)
        return instance

    def _create(self, server_id: str, bootstrap: Bootstrap | None) -> Instance:
        if bootstrap is None:
            if server_id in self._closed:
                raise SessionNotFound(server_id)
            raise InvalidRequest(
                f"missing required 'agent' query parameter for first POST to /v1/acp/{server_id}"
            )
        if len(self._instances) >= self._settings.max_instances and not self._make_room():
            raise TooManyInstances(self._settings.max_instances)
        if self._stopping:
            raise ServerStopping
        log = self.logs.new_log(self._settings.retention, first=self._closed.get(server_id, 0) + 1)
        client_log = self.logs.new_client_log() if self._settings.limits.client_log else None
        instance = Instance(server_id, bootstrap.agent, log, self._settings.limits, client_log)
        instance.on_exited = self._on_exited
        self._instances[server_id] = instance
        self._start(instance, bootstrap)
        if self._settings.idle_timeout_s and self._idle_instances is None:
            from sandbox_agent.bridge.idle_instances import IdleInstances  # only with --idle-timeout

            self._idle_instances = IdleInstances(self._settings.idle_timeout_s, self, self.discard)
        return instance

    def _make_room(self) -> bool:
        server_id = self.find_expendable() if self.find_expendable is not None else None
        if server_id is None:
            return False
        self.discard(server_id)
        return True

    def _start(self, instance: Instance, bootstrap: Bootstrap) -> None:
        if self._stopping:
            raise ServerStopping
        self.starter.start(instance, bootstrap)

    def _start_failed(self, instance: Instance, error: Exception) -> None:
        if not isinstance(error, SandboxAgentError):
            logger.exception("instance.not_started", error, server_id=instance.server_id)
            error = InternalError()
        instance.start_failed(error)
        if instance.exit is None:
            # It never ran: the id stays as it was before this POST.
            instance.close_logs()
            if self._instances.get(instance.server_id) is instance:
                del self._instances[instance.server_id]
                self._tell_closed(instance)
        _log("instance.start_failed", instance, error=error.kind)

    # ---- end ---------------------------------------------------------------------------------------------

    def _on_exited(self, instance: Instance, process: AgentProcess) -> None:
        exit = instance.exit
        self.ended += 1
        _log(
            "instance.exited", instance, pid=process.pid, code=exit and exit.code, signal=exit and exit.signal
        )
        running_loop.when_asyncio(lambda: self._in_task(process.kill_tree()))
        for listener in self.exit_listeners:
            listener(instance)

    async def close(self, server_id: str) -> None:
        """DELETE: close the instance at once and stop its processes as soon as possible."""
        instance = self._instances.pop(server_id, None)
        if instance is None:
            if server_id not in self._closed:
                raise SessionNotFound(server_id)
            return
        self._remember(instance)
        import asyncio  # here and below: loaded on first use; callers run on asyncio

        stopped = self._close(instance)
        if stopped is not None:
            await asyncio.wait([stopped], timeout=DELETE_ANSWER_S)

    def _close(self, instance: Instance) -> asyncio.Task[None] | None:
        self.starter.cancel(instance)
        process = instance.close()
        self.ended += 1
        self._tell_closed(instance)
        _log("instance.closed", instance, last_event=instance.log.last)
        return self._in_task(process.stop()) if process is not None else None

    def _tell_closed(self, instance: Instance) -> None:
        for listener in self.close_listeners:
            listener(instance)

    def _remember(self, instance: Instance) -> None:
        self._closed[instance.server_id] = instance.log.last
        self._closed.move_to_end(instance.server_id)
        if len(self._closed) > _REMEMBERED_CLOSED_IDS:
            self._closed.popitem(last=False)

    def was_in_stopped_tree(self, pid: int) -> bool:
        """Whether an exited child belonged to an agent that is being stopped."""
        return self._sweeper.has_found(pid)

    def discard(self, server_id: str) -> None:
        """Close an instance without waiting for the end of its processes."""
        instance = self._instances.pop(server_id, None)
        if instance is not None:
            self._remember(instance)
            running_loop.when_asyncio(lambda: self._close(instance))

    async def shutdown(self) -> None:
        """Close all instances in parallel; returns when no agent process is left."""
        import asyncio

        self._stopping = True
        if self._idle_instances is not None:
            self._idle_instances.end()
        if self.starter.warm is not None:
            for process in self.starter.warm.close():
                self._in_task(process.stop())
        while self._instances:
            _, instance = self._instances.popitem()
            self._close(instance)
        await self.starter.wait()
        while self._background:
            await asyncio.wait(list(self._background))
        if self.starter.groups is not None:
            await running_loop.call_in_thread(self.starter.groups.remove)

    def _in_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        import asyncio

        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task


def _log(event: str, instance: Instance, **more: Any) -> None:
    logger.info(event, server_id=instance.server_id, agent=instance.agent, **more)
