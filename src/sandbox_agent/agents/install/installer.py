"""Install agents: one install at a time per agent, across servers too, and never a partial one.

Each install fills a new folder, starts the agent from it and sends `initialize`. Only then the launcher is
renamed into place, which makes the agent count as installed. An install that ends early (error, kill, full
disk) leaves the previous state, and the next install removes its folder.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_agent import logs
from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.command_runner import CommandFailed
from sandbox_agent.agents.install.file_lock import file_lock
from sandbox_agent.agents.install.install_progress import Progress, ProgressListener
from sandbox_agent.agents.install.install_result import InstallArtifact, InstallResult
from sandbox_agent.agents.install.installed_build import MANIFEST, read_build
from sandbox_agent.agents.install.launcher_script import launcher_text, write_executable, write_manifest
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.install.package_fetcher import FetchedAgent, fetch_packages
from sandbox_agent.agents.install.versions import RequestedVersions, check_versions
from sandbox_agent.agents.launch.acp_probe import ProbeFailed, open_probe
from sandbox_agent.agents.launch.program import find_program
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.bridge.process.inherited_environment import inherited_environment
from sandbox_agent.errors import InstallFailed

_VERIFY_LIMIT_S = 120

logger = logs.Log("sandbox_agent.agents")


@dataclass(slots=True)
class _InstallJob:
    """An install that runs, and the listeners of its progress. Each new step is a line of the log."""

    agent: str
    task: asyncio.Task[InstallResult] = field(init=False)
    listeners: list[ProgressListener] = field(default_factory=list)
    last: Progress | None = None

    def report(self, progress: Progress) -> None:
        if self.last is None or self.last.step != progress.step:
            logger.info("install.step", agent=self.agent, step=progress.step, note=progress.message)
        self.last = progress
        for listener in list(self.listeners):
            listener(progress)


class Installer:
    """Installs agents of the catalogue into the data directory. One per server."""

    def __init__(
        self, catalog: Catalog, layout: InstallLayout, *, environ: Mapping[str, str] | None = None
    ) -> None:
        self._catalog = catalog
        self._layout = layout
        self._environ = inherited_environment(os.environ if environ is None else environ)
        self._jobs: dict[tuple[str, RequestedVersions, bool], _InstallJob] = {}

    async def install(
        self,
        agent_id: str,
        *,
        reinstall: bool = False,
        agent_version: str | None = None,
        agent_process_version: str | None = None,
        progress: ProgressListener | None = None,
    ) -> InstallResult:
        """Install the agent if it is missing, if `reinstall` is set, or if other versions are requested.

        Equal requests share one install; cancelling one caller does not stop it. Raises `UnsupportedAgent`,
        `InvalidRequest` or `InstallFailed`.
        """
        spec = self._catalog.get(agent_id)
        versions = check_versions(spec, agent_version, agent_process_version)
        key = (agent_id, versions, reinstall)
        job = self._jobs.get(key)
        if job is None:
            job = self._jobs[key] = _InstallJob(agent_id)
            job.task = asyncio.create_task(self._run(spec, versions, reinstall, job))
            job.task.add_done_callback(lambda task: self._remove_job(key, task))
        if progress is not None:
            if job.last is not None:
                progress(job.last)
            job.listeners.append(progress)
        try:
            return await asyncio.shield(job.task)
        finally:
            if progress is not None:
                job.listeners.remove(progress)

    def progress_of(self, agent_id: str) -> Progress | None:
        """How far the install of the agent is; None if none runs or it has only just begun."""
        return next((job.last for job in self._jobs.values() if job.agent == agent_id and job.last), None)

    async def aclose(self) -> None:
        """Cancel every running install; their folders are removed."""
        tasks = [job.task for job in self._jobs.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _remove_job(
        self, key: tuple[str, RequestedVersions, bool], task: asyncio.Task[InstallResult]
    ) -> None:
        self._jobs.pop(key, None)
        if not task.cancelled():
            # Marks the exception as retrieved; asyncio would log it if all callers had been cancelled.
            task.exception()

    async def _run(
        self, spec: AgentSpec, versions: RequestedVersions, reinstall: bool, job: _InstallJob
    ) -> InstallResult:
        if spec.builtin:
            path = self._layout.native_program(spec.id)
            artifact = InstallArtifact("agent_process", path, "builtin", "builtin")
            return InstallResult(not reinstall, (artifact,) if reinstall else ())
        try:
            return await self._install_locked(spec, versions, reinstall, job)
        except ProbeFailed as error:
            raise _failed(spec, f"{error.stderr}\n{error}".strip()) from error
        except (CommandFailed, OSError) as error:
            raise _failed(spec, str(error)) from error

    async def _install_locked(
        self, spec: AgentSpec, versions: RequestedVersions, reinstall: bool, job: _InstallJob
    ) -> InstallResult:
        waiting = Progress("wait", f"another process is installing {spec.id}")
        async with file_lock(self._layout.lock(spec.id), lambda: job.report(waiting)):
            program = find_program(spec, self._layout, self._environ)
            if program is not None and not reinstall and versions.match(program.build):
                return InstallResult(True)
            if spec.is_local:
                if program is None:
                    raise CommandFailed(
                        f"{spec.command[0]}, named in the agents file, is not an executable file"
                    )
                return InstallResult(False, (InstallArtifact("agent_process", program.path, "local_path"),))
            builds = Path(self._layout.builds(spec.id))
            stamp, unique = time.strftime("%Y%m%d-%H%M%S"), time.monotonic_ns() % 10**6
            root = builds / f"{stamp}-{os.getpid()}-{unique:06d}"
            await asyncio.to_thread(_remove_incomplete, builds)
            root.mkdir(parents=True)
            try:
                return await self._build(spec, versions, root, job)
            except BaseException:
                await asyncio.shield(asyncio.to_thread(shutil.rmtree, root, True))
                raise

    async def _build(
        self, spec: AgentSpec, versions: RequestedVersions, root: Path, job: _InstallJob
    ) -> InstallResult:
        fetched = await fetch_packages(spec, versions, root, self._layout, self._environ, job.report)
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
        installed = {"version": fetched.version, "nativeVersion": fetched.native_version}
        write_manifest(root, {"agent": spec.id, "source": fetched.source, **installed})
        artifacts = await asyncio.to_thread(self._publish, spec, fetched, text)
        job.report(Progress("done", f"{spec.name} is installed", percent=100))
        return InstallResult(False, artifacts)

    async def _verify(self, spec: AgentSpec, launcher: Path, root: Path) -> None:
        """Start the agent in an empty home, so that the test run writes nothing to the user's."""
        home = root / ".first-start"
        home.mkdir()
        env = {k: v for k, v in self._environ.items() if not k.startswith("XDG_")} | {"HOME": str(home)}
        env |= {key: value for key, value in spec.verify_env.items() if key not in env}
        async with open_probe(LaunchSpec((str(launcher),), env, str(home))) as probe:
            await probe.initialize(_VERIFY_LIMIT_S)
        await asyncio.to_thread(shutil.rmtree, home, True)

    def _publish(self, spec: AgentSpec, fetched: FetchedAgent, text: str) -> tuple[InstallArtifact, ...]:
        launcher = Path(self._layout.launcher(spec.id))
        previous = None
        with suppress(OSError, ValueError):
            previous = read_build(str(launcher))
        artifacts = []
        if spec.native is not None and fetched.native_file is not None:
            link = Path(self._layout.native_program(spec.native))
            temporary = link.with_name(f".{link.name}.{os.getpid()}.new")
            temporary.unlink(missing_ok=True)
            temporary.symlink_to(fetched.native_file)
            os.replace(temporary, link)
            artifacts.append(
                InstallArtifact("native_agent", str(link), fetched.source, fetched.native_version)
            )
        write_executable(launcher, text)
        artifacts.append(InstallArtifact("agent_process", str(launcher), fetched.source, fetched.version))
        # The previous build stays: agents that run from it may still load files.
        keep = {fetched.root, Path(previous.root) if previous else None}
        for old in Path(self._layout.builds(spec.id)).iterdir():
            if old not in keep:
                shutil.rmtree(old, ignore_errors=True)
        return tuple(artifacts)


def _failed(spec: AgentSpec, reason: str) -> InstallFailed:
    logger.warning("install.failed", agent=spec.id, error=reason.rstrip().rpartition("\n")[2])
    return InstallFailed(spec.id, reason)


def _remove_incomplete(builds: Path) -> None:
    """Remove the folders of installs that were killed. The caller holds the agent's lock."""
    if builds.is_dir():
        for folder in builds.iterdir():
            if not (folder / MANIFEST).exists():
                shutil.rmtree(folder, ignore_errors=True)
