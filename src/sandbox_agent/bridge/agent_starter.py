"""How an instance gets its process: the agent is prepared, installed if need be, and started.

At once if everything is there, else in a task. The first agent brings the guard along that ends all of them
if the server is killed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.process import tags
from sandbox_agent.bridge.process.agent_process import AgentProcess
from sandbox_agent.errors import StreamError, Timeout
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from typing import Protocol

    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.process.limits import ProcessLimits
    from sandbox_agent.bridge.process.tree_sweeper import TreeSweeper

    class Launcher(Protocol):
        """Turns an agent's name into something that can be started."""

        def prepare_now(
            self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
        ) -> LaunchSpec | None:
            """How to start the agent; None if that takes time, such as for an install."""

        async def prepare(
            self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
        ) -> LaunchSpec:
            """How to start the agent, installed first if need be."""


START_LIMIT_S = 600.0
_GUARD_AGAIN_S = 0.5
# Loading msgspec takes 10 ms. It begins this long after the start of the first agent, so that the first
# answer of a quick agent does not wait for it.
_LOAD_MSGSPEC_AFTER_S = 0.1

logger = logs.Log("sandbox_agent.bridge")


class Bootstrap:
    """What a first POST says about the process it wants."""

    __slots__ = ("agent", "cwd", "env")

    def __init__(self, agent: str, cwd: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self.agent = agent
        self.cwd = cwd
        self.env = env


class AgentStarter:
    def __init__(
        self,
        launcher: Launcher,
        sweeper: TreeSweeper,
        confinement: ProcessLimits,
        max_line_bytes: int,
        failed: Callable[[Instance, Exception], None],
    ) -> None:
        """`failed` is told when an instance gets no process, and why."""
        self.server_mark = tags.new_server_mark()
        self.on_first_agent: Callable[[], None] | None = None
        """Set by the server command: becomes the reaper of orphans as soon as there can be any."""
        self._launcher = launcher
        self._sweeper = sweeper
        self._confinement = confinement
        self._max_line_bytes = max_line_bytes
        self._failed = failed
        self._starting: dict[Instance, asyncio.Task[None]] = {}
        self._agent_pids: set[int] = set()
        self._spawned = 0

    def start(self, instance: Instance, bootstrap: Bootstrap) -> None:
        instance.begin_start()
        # On the next turn, so that whoever asks for the instance now finds it starting, not failed.
        running_loop.running_loop().call_soon(self._start_now, instance, bootstrap)

    def _start_now(self, instance: Instance, bootstrap: Bootstrap) -> None:
        """Start the process at once if everything is there, else in a task."""
        if instance.closed:
            return
        spec = None
        try:
            spec = self._launcher.prepare_now(bootstrap.agent, cwd=bootstrap.cwd, env=bootstrap.env)
            if spec is not None:
                self._attach(instance, self._spawn(spec, instance))
        except Exception as error:
            self._failed(instance, error)
            return
        if spec is None:
            running_loop.when_asyncio(lambda: self._start_in_task(instance, bootstrap))

    def _start_in_task(self, instance: Instance, bootstrap: Bootstrap) -> None:
        import asyncio  # `when_asyncio` has loaded it

        if not instance.closed:
            task = asyncio.create_task(self._prepare_and_start(instance, bootstrap))
            self._starting[instance] = task
            task.add_done_callback(lambda _: self._starting.pop(instance, None))

    async def _prepare_and_start(self, instance: Instance, bootstrap: Bootstrap) -> None:
        import asyncio

        try:
            async with asyncio.timeout(START_LIMIT_S):
                spec = await self._launcher.prepare(bootstrap.agent, cwd=bootstrap.cwd, env=bootstrap.env)
            if not instance.closed:
                self._attach(instance, self._spawn(spec, instance))
        except TimeoutError:
            self._failed(instance, Timeout(f"the agent was not ready after {START_LIMIT_S:.0f} s"))
        except Exception as error:
            self._failed(instance, error)

    def _attach(self, instance: Instance, process: AgentProcess) -> None:
        instance.attach(process)
        logger.info("instance.started", server_id=instance.server_id, agent=instance.agent, pid=process.pid)
        self._stand_guard()
        if self._spawned == 1:
            running_loop.running_loop().call_later(_LOAD_MSGSPEC_AFTER_S, envelope.load_msgspec)

    def _spawn(self, spec: LaunchSpec, instance: Instance) -> AgentProcess:
        self._spawned += 1
        mark = tags.instance_mark(self.server_mark, self._spawned)
        try:
            process = AgentProcess(
                spec, mark, self._max_line_bytes, instance, self._sweeper, self._confinement
            )
        except (OSError, ValueError, KeyError) as error:
            raise StreamError(f"failed to start agent process: {error}") from error
        self._agent_pids.add(process.pid)
        process.on_reaped = self._agent_pids.discard
        return process

    def _stand_guard(self) -> None:
        """With the first agent, and again until it succeeds: what ends the agents if the server is killed."""
        if self.on_first_agent is None:
            return
        try:
            self.on_first_agent()
            self.on_first_agent = None
        except OSError as error:
            logger.warning("guardian.unavailable", error=str(error))
            running_loop.running_loop().call_later(_GUARD_AGAIN_S, self._stand_guard)

    def is_agent(self, pid: int) -> bool:
        """Whether a child is an agent of ours, which is waited for already."""
        return pid in self._agent_pids

    def cancel(self, instance: Instance) -> None:
        """Leave off what is being prepared, if anything is."""
        if instance in self._starting:
            self._starting[instance].cancel()

    async def wait(self) -> None:
        """Until nothing is being prepared any more."""
        import asyncio

        while self._starting:
            await asyncio.wait(list(self._starting.values()))
