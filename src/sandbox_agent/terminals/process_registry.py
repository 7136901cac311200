"""All processes that users have started: create, run, list, stop, kill, delete, shutdown.

Running ones are limited, those of `run` included; of exited ones the newest are kept until they are deleted.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.eventlog.event_log import Retention
from sandbox_agent.errors import Conflict, NotFound, ServerStopping
from sandbox_agent.terminals.captured_run import CapturedRun
from sandbox_agent.terminals.managed_process import ManagedProcess
from sandbox_agent.terminals.user_process import UserProcess

if TYPE_CHECKING:
    from collections.abc import Coroutine, Iterator
    from typing import Any

    from sandbox_agent.bridge.process.limits import ProcessLimits
    from sandbox_agent.bridge.registry import InstanceRegistry
    from sandbox_agent.terminals.launch import Launch
    from sandbox_agent.terminals.process_config import ProcessConfig
    from sandbox_agent.terminals.user_process import OutputOwner

logger = logs.Log("sandbox_agent.processes")

# The ring counts bytes; entries of one byte are bounded too.
_RING_EVENTS = 65_536
_SHUTDOWN_GRACE_S = 1.0
# How long the answer to a stop waits for the end of a killed tree.
_KILL_ANSWER_S = 1.0
# A control group takes two calls in worker threads, and 0.4 ms of processor time. Short commands exit before.
_GROUP_OF_RUN_AFTER_S = 0.01


class ProcessRegistry:
    def __init__(
        self,
        config: ProcessConfig,
        instances: InstanceRegistry,
        process_limits: ProcessLimits,
        max_exited: int,
    ) -> None:
        """`instances` has what processes share with agents: tags, the watchdog, the spill directory."""
        self.config = config
        self._instances = instances
        self._process_limits = process_limits
        self._max_exited = max_exited
        self._processes: dict[str, ManagedProcess] = {}
        """In the order of their numbers."""
        self._created = 0
        self._runs: set[UserProcess] = set()
        self._background: set[asyncio.Task[None]] = set()
        self._stopping = False

    def __iter__(self) -> Iterator[ManagedProcess]:
        return iter(self._processes.values())

    def get(self, process_id: str) -> ManagedProcess:
        process = self._processes.get(process_id)
        if process is None:
            raise NotFound.resource("process", process_id)
        return process

    # ---- start -------------------------------------------------------------------------------------------

    def create(self, launch: Launch, cwd: str | None, interactive: bool) -> ManagedProcess:
        """Start a process that stays until it ends. Raises InvalidRequest, Conflict or StreamError."""
        self._check_limit()
        log = self._instances.logs.new_log(Retention(_RING_EVENTS, self.config.max_log_bytes_per_process))
        managed = ManagedProcess(launch, log, cwd, interactive, lambda: self._on_exited(managed))
        try:
            managed.process = self._start(launch, managed)
        except Exception:
            log.close()
            raise
        self._created += 1
        managed.id = f"proc_{self._created}"
        self._processes[managed.id] = managed
        logger.info("process.started", id=managed.id, pid=managed.process.pid, tty=managed.is_terminal)
        return managed

    def _check_limit(self) -> None:
        if self._stopping:
            raise ServerStopping
        running = sum(managed.exit is None for managed in self) + len(self._runs)
        limit = self.config.max_concurrent_processes
        if running >= limit:
            raise Conflict(f"max concurrent process limit reached ({limit})", limit=limit)

    def _start(self, launch: Launch, owner: OutputOwner, *, group_after_s: float = 0.0) -> UserProcess:
        try:
            return self._instances.starter.start_tree(
                lambda tag, sweeper: UserProcess(launch, tag, owner, sweeper, self._process_limits),
                group_after_s=group_after_s,
            )
        except (OSError, ValueError, KeyError) as error:
            raise launch.error(error) from error

    async def run(self, launch: Launch, timeout_ms: int | None, max_output_bytes: int | None) -> CapturedRun:
        """Run a process to its end or to the time-out; nothing of its tree is left then.

        A caller that is cancelled ends it. Raises as `create`.
        """
        self._check_limit()
        config = self.config
        captured = CapturedRun(
            config.max_output_bytes
            if max_output_bytes is None
            else min(max_output_bytes, config.max_output_bytes)
        )
        loop = asyncio.get_running_loop()
        started = loop.time()
        process = self._start(launch, captured, group_after_s=_GROUP_OF_RUN_AFTER_S)
        self._runs.add(process)
        try:
            process.input.close_when_written()
            timeout_ms = min(timeout_ms or config.default_run_timeout_ms, config.max_run_timeout_ms)
            captured.timed_out = not await process.exits_within(timeout_ms / 1000)
        finally:
            ended = self.in_task(process.kill_tree())
            ended.add_done_callback(lambda _: self._runs.discard(process))
        captured.duration_ms = round((loop.time() - started) * 1000)
        if captured.timed_out:
            await asyncio.shield(ended)
        return captured

    # ---- end ---------------------------------------------------------------------------------------------

    def _on_exited(self, managed: ManagedProcess) -> None:
        exit = managed.exit
        logger.info("process.exited", id=managed.id, code=exit and exit.code, signal=exit and exit.signal)
        if managed.is_stopping:
            self.in_task(managed.process.kill_tree())
        exited = [process for process in self if process.exit is not None]
        for process in exited[: max(0, len(exited) - self._max_exited)]:
            self._forget(process)

    async def stop(self, managed: ManagedProcess, wait_s: float, *, escalate: bool) -> None:
        """SIGTERM; when the process exits, what is left of its tree is killed. Waits at most `wait_s`.

        With `escalate` the tree is killed after that time.
        """
        managed.is_stopping = True
        managed.process.terminate()
        if await managed.process.exits_within(wait_s) or escalate:
            await self.kill(managed, _KILL_ANSWER_S)

    async def kill(self, managed: ManagedProcess, wait_s: float) -> None:
        """SIGKILL to the whole tree. Waits at most `wait_s` for its end."""
        ended = self.in_task(managed.process.kill_tree())
        await asyncio.wait([ended], timeout=wait_s)

    def delete(self, process_id: str) -> None:
        """Forget an exited process. Raises NotFound or Conflict."""
        managed = self.get(process_id)
        if managed.exit is None:
            raise Conflict("process is still running; stop or kill it before delete")
        self._forget(managed)

    def _forget(self, managed: ManagedProcess) -> None:
        self._processes.pop(managed.id, None)
        managed.log.close()
        self.in_task(managed.process.kill_tree())

    async def shutdown(self) -> None:
        """End all processes; returns when none is left."""
        self._stopping = True
        for process in [*self._runs, *(managed.process for managed in self)]:
            self.in_task(self._shut_down(process))
        while self._background:
            await asyncio.wait(list(self._background))
        while self._processes:
            self._processes.popitem()[1].log.close()

    async def _shut_down(self, process: UserProcess) -> None:
        process.terminate()
        await process.exits_within(_SHUTDOWN_GRACE_S)
        await process.kill_tree()

    def in_task(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)
        return task
