"""Install agents: one at a time per agent, also between servers, and never half.

Each install fills a fresh folder; the agent is then really started and asked to `initialize`; only then the
launcher is renamed into place, which is the moment the agent counts as installed. Whatever ends an install
early (a fault, a kill, a full disk) leaves the old state, and the next install sweeps up.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_agent.agents.catalog.catalog import AgentSpec, Catalog
from sandbox_agent.agents.install.command import CommandFailed
from sandbox_agent.agents.install.file_lock import file_lock
from sandbox_agent.agents.install.launcher_script import (
    MANIFEST,
    Build,
    launcher_text,
    read_build,
    write_executable,
    write_manifest,
)
from sandbox_agent.agents.install.packages import Fetched, Wanted, fetch
from sandbox_agent.agents.install.progress import Progress, ProgressListener
from sandbox_agent.agents.launch.acp_handshake import HandshakeFailed, conversation
from sandbox_agent.agents.launch.program import find_program
from sandbox_agent.agents.layout import Layout
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.errors import InstallFailed, InvalidRequest

_VERIFY_LIMIT_S = 120
_VERSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}")


@dataclass(frozen=True, slots=True)
class Artifact:
    kind: str
    """`agent_process` or `native_agent`."""
    path: str
    source: str
    """`registry`, `fallback` (the catalogue's pins), `local_path` or `builtin`."""
    version: str | None = None


@dataclass(frozen=True, slots=True)
class InstallResult:
    already_installed: bool
    artifacts: tuple[Artifact, ...] = ()


@dataclass(slots=True)
class _Job:
    """An install under way and everybody who watches it."""

    task: asyncio.Task[InstallResult] = field(init=False)
    listeners: list[ProgressListener] = field(default_factory=list)
    last: Progress | None = None

    def report(self, progress: Progress) -> None:
        self.last = progress
        for listener in list(self.listeners):
            listener(progress)


class Installer:
    """Installs agents of the catalogue into the data directory. One per server."""

    def __init__(self, catalog: Catalog, layout: Layout, *, environ: Mapping[str, str] | None = None) -> None:
        self._catalog = catalog
        self._layout = layout
        # Neither npm nor an agent's first start has any business with the server's token.
        inherited = os.environ if environ is None else environ
        self._environ = {key: value for key, value in inherited.items() if key != "SANDBOX_AGENT_TOKEN"}
        self._jobs: dict[tuple[str, Wanted, bool], _Job] = {}

    async def install(
        self,
        agent_id: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
        progress: ProgressListener | None = None,
    ) -> InstallResult:
        """Install the agent if it is missing, if `reinstall` says so, or if another version is wanted.

        Callers who want the same join the install that runs. A caller who is cancelled stops only its own
        waiting. Raises `UnsupportedAgent`, `InvalidRequest` or `InstallFailed`.
        """
        spec = self._catalog.get(agent_id)
        wanted = _checked(spec, agent_version, agent_process_version)
        key = (agent_id, wanted, reinstall)
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = _Job()
            job.task = asyncio.create_task(self._run(spec, wanted, reinstall, job))
            job.task.add_done_callback(lambda task: self._forget(key, task))
        if progress is not None:
            if job.last is not None:
                progress(job.last)
            job.listeners.append(progress)
        try:
            return await asyncio.shield(job.task)
        finally:
            if progress is not None:
                job.listeners.remove(progress)

    async def aclose(self) -> None:
        """Stop every install under way; nothing of them stays."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _forget(self, key: tuple[str, Wanted, bool], task: asyncio.Task[InstallResult]) -> None:
        self._jobs.pop(key, None)
        if not task.cancelled():
            # Read, so that an install nobody waits for any more does not complain in the log.
            task.exception()

    async def _run(self, spec: AgentSpec, wanted: Wanted, reinstall: bool, job: _Job) -> InstallResult:
        if spec.builtin:
            artifact = Artifact("agent_process", str(self._layout.bin / spec.id), "builtin", "builtin")
            return InstallResult(not reinstall, (artifact,) if reinstall else ())
        try:
            return await self._install_locked(spec, wanted, reinstall, job)
        except (CommandFailed, HandshakeFailed) as error:
            stderr = getattr(error, "stderr", "")
            raise InstallFailed(spec.id, f"{stderr}\n{error}".strip()) from error
        except OSError as error:
            raise InstallFailed(spec.id, str(error)) from error

    async def _install_locked(
        self, spec: AgentSpec, wanted: Wanted, reinstall: bool, job: _Job
    ) -> InstallResult:
        waiting = Progress("wait", f"another process is installing {spec.id}")
        async with file_lock(self._layout.lock(spec.id), lambda: job.report(waiting)):
            program = find_program(spec, self._layout, self._environ)
            if program is not None and not reinstall:
                if _has_versions(program.build, wanted):
                    return InstallResult(True)
            if spec.is_local:
                if program is None:
                    raise CommandFailed(
                        f"{spec.command[0]}, named in the agents file, is not an executable file"
                    )
                return InstallResult(False, (Artifact("agent_process", program.path, "local_path"),))
            builds = self._layout.builds(spec.id)
            root = (
                builds / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}-{time.monotonic_ns() % 10**6:06d}"
            )
            await asyncio.to_thread(_sweep, builds)
            root.mkdir(parents=True)
            try:
                return await self._build(spec, wanted, root, job)
            except BaseException:
                await asyncio.shield(asyncio.to_thread(shutil.rmtree, root, True))
                raise

    async def _build(self, spec: AgentSpec, wanted: Wanted, root: Path, job: _Job) -> InstallResult:
        fetched = await fetch(spec, wanted, root, self._layout, self._environ, job.report)
        text = launcher_text(
            fetched.argv,
            build=root,
            default_env=fetched.default_env,
            env=fetched.env,
            path_entries=fetched.path_entries,
        )
        candidate = root / "launcher"
        write_executable(candidate, text)
        job.report(Progress("verify", f"starting {spec.name} for the first time", percent=96))
        await self._verify(spec, candidate, root)
        versions = {"version": fetched.version, "nativeVersion": fetched.native_version}
        write_manifest(root, {"agent": spec.id, "source": fetched.source, **versions})
        artifacts = await asyncio.to_thread(self._publish, spec, fetched, text)
        job.report(Progress("done", f"{spec.name} is installed", percent=100))
        return InstallResult(False, artifacts)

    async def _verify(self, spec: AgentSpec, launcher: Path, root: Path) -> None:
        """Start it in an empty home, so that a test run leaves nothing in the user's."""
        home = root / ".first-start"
        home.mkdir()
        env = {k: v for k, v in self._environ.items() if not k.startswith("XDG_")} | {"HOME": str(home)}
        env |= {key: value for key, value in spec.verify_env.items() if key not in env}
        async with conversation(LaunchSpec((str(launcher),), env, str(home))) as talk:
            await talk.initialize(_VERIFY_LIMIT_S)
        await asyncio.to_thread(shutil.rmtree, home, True)

    def _publish(self, spec: AgentSpec, fetched: Fetched, text: str) -> tuple[Artifact, ...]:
        launcher = self._layout.launcher(spec.id)
        previous = None
        with suppress(OSError, ValueError):
            previous = read_build(launcher)
        artifacts = []
        if spec.native is not None and fetched.native_file is not None:
            link = self._layout.bin / spec.native
            temporary = link.with_name(f".{link.name}.{os.getpid()}.new")
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(fetched.native_file)
            os.replace(temporary, link)
            artifacts.append(Artifact("native_agent", str(link), fetched.source, fetched.native_version))
        write_executable(launcher, text)
        artifacts.append(Artifact("agent_process", str(launcher), fetched.source, fetched.version))
        # The previous build stays: agents that run from it may still load files.
        keep = {fetched.root, previous.root if previous else None}
        for old in self._layout.builds(spec.id).iterdir():
            if old not in keep:
                shutil.rmtree(old, ignore_errors=True)
        return tuple(artifacts)


def _checked(spec: AgentSpec, agent_version: str | None, process_version: str | None) -> Wanted:
    for name, version in (("agentVersion", agent_version), ("agentProcessVersion", process_version)):
        if version is not None and not _VERSION.fullmatch(version):
            raise InvalidRequest(f"{name} '{version}' is not a version")
        if version is not None and (spec.builtin or spec.is_local):
            raise InvalidRequest(f"{spec.id} has no versions to choose from")
    if agent_version is None:
        return Wanted(process_version)
    if spec.is_one_program:
        if process_version not in (None, agent_version):
            raise InvalidRequest(
                f"{spec.id} is one program: agentVersion {agent_version} and agentProcessVersion "
                f"{process_version} cannot both be had"
            )
        return Wanted(agent_version)
    if not any(step.native for step in spec.install):
        raise InvalidRequest(
            f"{spec.id} comes with its vendor's program, whose version cannot be chosen: choose "
            "agentProcessVersion instead"
        )
    return Wanted(process_version, agent_version)


def _has_versions(build: Build | None, wanted: Wanted) -> bool:
    """Whether what is installed is what is wanted; a program somebody brought along has no known version."""
    process_version = build.version if build else None
    native_version = build.native_version if build else None
    return wanted.process_version in (None, process_version) and (
        wanted.native_version in (None, native_version)
    )


def _sweep(builds: Path) -> None:
    """Remove what installs that were killed have left. Only called under the agent's lock."""
    if builds.is_dir():
        for folder in builds.iterdir():
            if not (folder / MANIFEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
