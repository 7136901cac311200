"""Agent processes that are started before a client asks for one (`--warm`).

Loading an agent is most of the time of its first answer. A warm process has been started and has had no
message. The first POST of an instance takes one if it would start exactly the same: the same command with the
same files, environment and directory. Otherwise the instance starts a process of its own. A process is given
away once and never comes back. What is missing is started again a little later, so that the turn that has
just begun does not compete with it; an agent that is not asked for is ended after a while.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sandbox_agent import logs
from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.runtime import running_loop, wall_clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from sandbox_agent.bridge.agent_starter import Bootstrap, Launcher
    from sandbox_agent.bridge.launch_spec import LaunchSpec
    from sandbox_agent.bridge.process.agent_process import AgentProcess, ProcessOwner
    from sandbox_agent.bridge.process.exit_watch import ProcessExit
    from sandbox_agent.bridge.stdio.line_framer import Piece
    from sandbox_agent.bridge.warm_target import WarmTarget

REFILL_AFTER_S = 2.0
_RETRY_LIMIT_S = 300.0

logger = logs.Log("sandbox_agent.bridge")


class WarmProcess:
    """A process that waits for its first message."""

    __slots__ = ("agent", "files", "process", "spec", "started_at_ms")

    def __init__(self, agent: str, spec: LaunchSpec, process: AgentProcess) -> None:
        self.agent = agent
        self.spec = spec
        self.files = _files(spec)
        self.process = process
        self.started_at_ms = wall_clock.now_ms()

    def fits(self, wanted: LaunchSpec) -> bool:
        """Whether starting `wanted` now would give the same process."""
        return (
            self.spec.argv == wanted.argv
            and self.spec.cwd == wanted.cwd
            and self.spec.env == wanted.env
            and self.files == _files(wanted)
        )


class _TargetPool:
    """The warm processes of one target."""

    def __init__(self, target: WarmTarget, now: float) -> None:
        self.target = target
        self.processes: list[WarmProcess] = []
        self.idle_since = now
        self.failures = 0
        """Processes in a row that exited before they were taken."""
        self.refill: running_loop.Timer | None = None
        self.idle_check: running_loop.Timer | None = None


class WarmPool:
    def __init__(
        self,
        targets: Sequence[WarmTarget],
        idle_s: float,
        launcher: Launcher,
        spawn: Callable[[LaunchSpec, ProcessOwner], AgentProcess],
        stop: Callable[[AgentProcess], object],
    ) -> None:
        """`stop` ends the tree of a process in the background. `idle_s` 0: processes wait without limit."""
        self._targets = targets
        self._idle_s = idle_s
        self._launcher = launcher
        self._spawn = spawn
        self._stop = stop
        self._pools: dict[str, list[_TargetPool]] = {}
        self._closed = False

    def start(self) -> None:
        """Start the processes. Called once, when the server listens."""
        now = running_loop.running_loop().time()
        for target in self._targets:
            pool = _TargetPool(target, now)
            self._pools.setdefault(target.agent, []).append(pool)
            self._fill(pool)

    def __iter__(self) -> Iterator[WarmProcess]:
        for pools in self._pools.values():
            for pool in pools:
                yield from pool.processes

    def take(self, bootstrap: Bootstrap, owner: ProcessOwner) -> AgentProcess | None:
        """A warm process for this instance, which becomes its owner; None if none fits."""
        pools = self._pools.get(bootstrap.agent)
        if pools is None:
            return None
        now = running_loop.running_loop().time()
        for pool in pools:
            pool.idle_since = now
            self._refill_later(pool, REFILL_AFTER_S)
        wanted = self._launcher.spec_if_installed(bootstrap.agent, cwd=bootstrap.cwd, env=bootstrap.env)
        if wanted is None:
            return None
        for pool in pools:
            for warm in pool.processes:
                if warm.fits(wanted) and warm.process.is_running():
                    pool.processes.remove(warm)
                    pool.failures = 0
                    warm.process.hand_over(owner)
                    return warm.process
        return None

    def close(self) -> list[AgentProcess]:
        """Start nothing more; returns the processes that have to be stopped."""
        self._closed = True
        processes = []
        for pools in self._pools.values():
            for pool in pools:
                for timer in (pool.refill, pool.idle_check):
                    if timer is not None:
                        timer.cancel()
                processes += self._emptied(pool)
        return processes

    # ---- filling -----------------------------------------------------------------------------------------

    def _refill_later(self, pool: _TargetPool, delay_s: float) -> None:
        if pool.refill is None and not self._closed:
            loop = running_loop.running_loop()
            pool.refill = loop.call_later(delay_s, self._fill, pool)

    def _fill(self, pool: _TargetPool) -> None:
        pool.refill = None
        target = pool.target
        try:
            spec = self._launcher.spec_if_installed(target.agent, cwd=target.cwd, env=None)
            if spec is None:
                logger.info("warm.not_installed", agent=target.agent)
                return  # The next POST for the agent installs it and starts the processes.
            self._end_outdated(pool, spec)
            while len(pool.processes) < target.processes:
                pool.processes.append(self._started(pool, spec))
                pool.idle_since = running_loop.running_loop().time()
        except SandboxAgentError as error:
            logger.warning("warm.not_started", agent=target.agent, error=str(error))
            return
        self._check_idle_later(pool)

    def _started(self, pool: _TargetPool, spec: LaunchSpec) -> WarmProcess:
        process = self._spawn(spec, _NoOwner())
        # What it writes before its first message stays in the pipe, for the instance that takes it.
        process.pause_reading()
        warm = WarmProcess(pool.target.agent, spec, process)
        process.on_unowned_exit = lambda: self._exited(pool, warm)
        logger.info("warm.started", agent=warm.agent, pid=process.pid)
        return warm

    def _end_outdated(self, pool: _TargetPool, spec: LaunchSpec) -> None:
        """End processes of another version of the program, or of an environment that has changed."""
        outdated = [warm for warm in pool.processes if not warm.fits(spec)]
        for warm in outdated:
            pool.processes.remove(warm)
            self._end(warm)

    def _exited(self, pool: _TargetPool, warm: WarmProcess) -> None:
        if warm not in pool.processes:
            return
        pool.processes.remove(warm)
        pool.failures += 1
        exit = warm.process.exit
        logger.warning(
            "warm.exited",
            agent=warm.agent,
            pid=warm.process.pid,
            code=exit and exit.code,
            tries=pool.failures,
        )
        self._end(warm)
        self._refill_later(pool, min(REFILL_AFTER_S * 2**pool.failures, _RETRY_LIMIT_S))

    # ---- idle --------------------------------------------------------------------------------------------

    def _check_idle_later(self, pool: _TargetPool) -> None:
        if self._idle_s and pool.idle_check is None:
            loop = running_loop.running_loop()
            pool.idle_check = loop.call_at(pool.idle_since + self._idle_s, self._check_idle, pool)

    def _check_idle(self, pool: _TargetPool) -> None:
        pool.idle_check = None
        if running_loop.running_loop().time() < pool.idle_since + self._idle_s:
            self._check_idle_later(pool)
            return
        if pool.refill is not None:
            pool.refill.cancel()
            pool.refill = None
        for process in self._emptied(pool):
            logger.info("warm.ended_idle", agent=pool.target.agent, pid=process.pid)
            self._stop(process)

    def _emptied(self, pool: _TargetPool) -> list[AgentProcess]:
        processes = [warm.process for warm in pool.processes]
        pool.processes = []
        for process in processes:
            _release(process)
        return processes

    def _end(self, warm: WarmProcess) -> None:
        _release(warm.process)
        self._stop(warm.process)


def _release(process: AgentProcess) -> None:
    """Let the process end like any other: its output is read and discarded."""
    process.on_unowned_exit = None
    process.discard_output()


class _NoOwner:
    """The owner of a process that no instance has taken; its output is not read."""

    @property
    def output(self) -> _NoOwner:
        return self

    def take_block(self, block: bytes) -> None: ...

    def take(self, pieces: list[Piece]) -> None: ...

    def on_output(self) -> None: ...

    def on_input_closed(self) -> None: ...

    def on_exit(self, exit: ProcessExit) -> None: ...


def _files(spec: LaunchSpec) -> tuple[object, ...]:
    """Values that change when the directory or a file of the command is replaced."""
    found: list[object] = []
    for path in (spec.cwd, *(part for part in spec.argv if part.startswith("/"))):
        try:
            stat = os.stat(path)
        except OSError:
            found.append(None)
        else:
            found.append((stat.st_dev, stat.st_ino, stat.st_mtime_ns if path != spec.cwd else 0))
    return tuple(found)
