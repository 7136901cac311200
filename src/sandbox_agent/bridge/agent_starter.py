"""Starts the agent process of an instance: at once if the agent is installed, else in a task.

The first start also starts the watchdog, which kills all agents if the server is killed.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.bridge.jsonrpc import envelope
from sandbox_agent.bridge.process.agent_process import AgentProcess
from sandbox_agent.bridge.process.tree import tags
from sandbox_agent.bridge.process.tree.control_group import TreeGroup
from sandbox_agent.bridge.process.tree.inherited_tag import inherited_tag
from sandbox_agent.errors import StreamError, Timeout
from sandbox_agent.runtime import running_loop

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Mapping
    from typing import Protocol, TypeVar

    from sandbox_agent.bridge.instance import Instance
    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.process.agent_process import ProcessOwner
    from sandbox_agent.bridge.process.limits import ProcessLimits
    from sandbox_agent.bridge.process.tree.control_group import ServerGroups
    from sandbox_agent.bridge.process.tree.tree_sweeper import TreeSweeper
    from sandbox_agent.bridge.warm_pool import WarmPool

    class TreeRoot(Protocol):
        """The first process of a tree."""

        pid: int
        on_reaped: Callable[[int], None]
        group: TreeGroup | None

    TreeProcess = TypeVar("TreeProcess", bound=TreeRoot)

    class Launcher(Protocol):
        """Determines how to start an agent."""

        def spec_if_installed(
            self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
        ) -> LaunchSpec | None:
            """How to start the agent if it is installed; `cwd` is not checked."""

        async def prepare(
            self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
        ) -> LaunchSpec:
            """How to start the agent, which is installed first if necessary."""


START_LIMIT_S = 600.0
# Loading msgspec takes 10 ms. It begins this long after the start of the first agent, so that the first
# answer of a quick agent does not wait for it.
_LOAD_MSGSPEC_AFTER_S = 0.1

logger = logs.Log("sandbox_agent.bridge")


class Bootstrap:
    """What the first POST to a server_id asks for: agent, directory, environment."""

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
        process_limits: ProcessLimits,
        max_line_bytes: int,
        failed: Callable[[Instance, Exception], None],
    ) -> None:
        """`failed` is called with the error when a process could not be started."""
        self.server_tag = tags.new_server_tag()
        self.trees = sweeper.trees
        self.before_first_agent: Callable[[], None] | None = None
        """Set by the server command: adopts orphans, which the first agent may leave at once."""
        self.on_first_agent: Callable[[], None] | None = None
        """Set by the server command: starts the watchdog. Called with the first agent."""
        self.groups: ServerGroups | None = None
        """Set by the server command: control groups for the trees."""
        self.warm: WarmPool | None = None
        self._launcher = launcher
        self._sweeper = sweeper
        self._process_limits = process_limits
        self._max_line_bytes = max_line_bytes
        self._failed = failed
        self._starting: dict[Instance, asyncio.Task[None]] = {}
        self._spawned = 0
        self._loads_msgspec = False

    def start(self, instance: Instance, bootstrap: Bootstrap) -> None:
        instance.begin_start()
        # On the next turn of the loop, so that the caller sees the instance as starting, not as failed.
        running_loop.running_loop().call_soon(self._start_now, instance, bootstrap)

    def _start_now(self, instance: Instance, bootstrap: Bootstrap) -> None:
        """Start the process at once if the agent is installed, else in a task."""
        if instance.closed:
            return
        try:
            warm = self.warm.take(bootstrap, instance) if self.warm is not None else None
            if warm is not None:
                self._attach(instance, warm, warm=True)
                return
            spec = None
            if bootstrap.cwd is None:  # A directory is checked first, in a thread.
                spec = self._launcher.spec_if_installed(bootstrap.agent, env=bootstrap.env)
            if spec is not None:
                self._attach(instance, self.spawn(spec, instance))
            else:
                running_loop.when_asyncio(lambda: self._start_in_task(instance, bootstrap))
        except Exception as error:
            self._failed(instance, error)

    def _start_in_task(self, instance: Instance, bootstrap: Bootstrap) -> None:
        import asyncio  # loaded by `when_asyncio`

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
                self._attach(instance, self.spawn(spec, instance))
        except TimeoutError:
            self._failed(instance, Timeout(f"the agent was not ready after {START_LIMIT_S:.0f} s"))
        except Exception as error:
            self._failed(instance, error)

    def _attach(self, instance: Instance, process: AgentProcess, *, warm: bool = False) -> None:
        instance.attach(process)
        facts = {"warm": True} if warm else {}
        logger.info(
            "instance.started",
            server_id=instance.server_id,
            agent=instance.agent,
            pid=process.pid,
            **facts,
        )

    def spawn(self, spec: LaunchSpec, owner: ProcessOwner) -> AgentProcess:
        """Start a process. Raises `StreamError`."""
        try:
            process = self.start_tree(
                lambda tag, sweeper: AgentProcess(
                    spec, tag, self._max_line_bytes, owner, sweeper, self._process_limits
                )
            )
        except (OSError, ValueError, KeyError) as error:
            raise StreamError(f"failed to start agent process: {error}") from error
        if not self._loads_msgspec:
            self._loads_msgspec = True
            running_loop.running_loop().call_later(_LOAD_MSGSPEC_AFTER_S, envelope.load_msgspec)
        return process

    def start_tree(
        self, start: Callable[[int, TreeSweeper], TreeProcess], *, group_after_s: float = 0.0
    ) -> TreeProcess:
        """Start the first process of a tree: `start` gets its tag. Raises what `start` raises.

        It is moved into a control group at once, or if it still runs after `group_after_s`.
        """
        if self.before_first_agent is not None:
            self.before_first_agent()
        self._spawned += 1
        tag = tags.instance_tag(self.server_tag, self._spawned)
        self.trees.starting(tag)
        try:
            # Other programs may start processes in threads, which would inherit the tag too.
            with inherited_tag(tag) if self.trees.adopts_orphans else nullcontext() as is_tagged:
                process = start(tag, self._sweeper)
        except (OSError, ValueError, KeyError):
            self.trees.ended(tag)
            raise
        if is_tagged and self.trees.have_tags and tags.lacks_tag(process.pid, tag):
            self.trees.have_tags = False
            logger.warning(
                "process_tags.unavailable",
                pid=process.pid,
                note="the tag of a started process could not be read back",
            )
        self.trees.started(process.pid)
        process.on_reaped = self.trees.reaped
        name = str(self._spawned)
        if self.groups is not None and group_after_s:
            loop = running_loop.running_loop()
            loop.call_later(group_after_s, self._move_into_group, process, tag, name)
        else:
            self._move_into_group(process, tag, name)
        if self.on_first_agent is not None:
            # After the first message has been written: starting the watchdog takes 0.8 ms.
            running_loop.running_loop().call_later(0, self.on_first_agent)
            self.on_first_agent = None
        return process

    def _move_into_group(self, process: TreeRoot, tag: int, name: str) -> None:
        if self.groups is None or not self.trees.is_running(tag, process.pid):
            return
        group = TreeGroup(self.groups, name)

        def added(*_: object) -> None:
            if self.groups is not None and self.groups.cannot_be_made:
                self.groups = None

        process.group = group
        running_loop.in_thread(lambda: group.add(process.pid), added)

    def cancel(self, instance: Instance) -> None:
        """Cancel the preparation of an instance, if there is one."""
        if instance in self._starting:
            self._starting[instance].cancel()

    async def wait(self) -> None:
        """Wait until no preparation is under way."""
        import asyncio

        while self._starting:
            await asyncio.wait(list(self._starting.values()))
