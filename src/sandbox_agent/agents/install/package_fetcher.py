"""Install the packages of an agent into its folder and return how it is started from there.

The catalogue's pins are used first. The ACP registry is asked when there is no pin or when a version is
requested; if it cannot be reached, the requested version of the pinned package is installed instead.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_agent.agents.catalog.agent_spec import AgentSpec, InstallStep
from sandbox_agent.agents.install.command_runner import CommandFailed
from sandbox_agent.agents.install.folder_size import report_growth
from sandbox_agent.agents.install.install_progress import Progress, ProgressListener
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.install.sources import acp_registry, npm, pypi
from sandbox_agent.agents.install.sources.acp_registry import (
    RegistryArchive,
    RegistryPackage,
    RegistryUnavailable,
)
from sandbox_agent.agents.install.sources.archive_download import download_and_unpack
from sandbox_agent.agents.install.sources.node import NodeRuntime, find_or_install_node
from sandbox_agent.agents.install.sources.platform_name import npm_platform
from sandbox_agent.agents.install.versions import RequestedVersions
from sandbox_agent.agents.launch.program import adapter_command

_NODE_FOR_REGISTRY_AGENTS = 22
"""The registry does not say which Node.js an agent needs."""
_VERSION_SYNTAX = {
    "npm": (npm.with_version, npm.version_of),
    "pypi": (pypi.with_version, pypi.version_of),
}


@dataclass(frozen=True, slots=True)
class FetchedAgent:
    """An agent whose packages are on disk."""

    root: Path
    argv: tuple[str, ...]
    source: str
    version: str | None
    default_env: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    path_entries: tuple[str, ...] = ()
    native_file: Path | None = None
    native_version: str | None = None


async def fetch_packages(
    spec: AgentSpec,
    versions: RequestedVersions,
    root: Path,
    layout: InstallLayout,
    environ: Mapping[str, str],
    report: ProgressListener,
) -> FetchedAgent:
    """Install everything `spec` needs into `root`; raises `CommandFailed`."""
    fetcher = _PackageFetcher(spec, root, layout, environ, report)
    # The registry has only one package of an agent. Where several belong together, the requested version is
    # installed beside the other pins instead.
    is_single = len(spec.usual_steps) == 1 and versions.native_version is None
    asks_registry = not spec.install or (versions.process_version is not None and is_single)
    if spec.registry and asks_registry:
        url = environ.get("SANDBOX_AGENT_ACP_REGISTRY_URL") or acp_registry.DEFAULT_URL
        try:
            found = await acp_registry.find_distribution(url, spec.registry, versions.process_version)
        except RegistryUnavailable as error:
            if not spec.install:
                raise CommandFailed(str(error)) from error
            found = None
        if found is not None:
            return await fetcher.from_registry(found)
        if not spec.install:
            version = f" in version {versions.process_version}" if versions.process_version else ""
            raise CommandFailed(f"the ACP registry {url} has no {spec.id} for this machine{version}")
    if not spec.install:
        raise CommandFailed(f"{spec.id} cannot be installed: put its program on PATH")
    return await fetcher.from_pins(versions)


@dataclass(slots=True)
class _PackageFetcher:
    spec: AgentSpec
    root: Path
    layout: InstallLayout
    environ: Mapping[str, str]
    report: ProgressListener
    node: NodeRuntime = field(default=NodeRuntime("node"))

    async def from_pins(self, versions: RequestedVersions) -> FetchedAgent:
        if self.spec.node is not None or any(step.source == "npm" for step in self.spec.install):
            await self._choose_node(self.spec.node or 1)
        installed: list[str | None] = []
        native_version, native_path = None, self.spec.native_file
        default_env = dict(self.spec.default_env)
        async with report_growth(self.root, self.spec, self.report):
            for step in self.spec.install:
                if step.on_request and versions.native_version is None:
                    continue
                is_main = step is self.spec.install[0]
                version = (versions.process_version if is_main else None) or (
                    versions.native_version if step.native else None
                )
                installed.append(await self._run_step(step, version))
                if step.native:
                    native_version = installed[-1]
                native_path = step.program or native_path
                default_env |= step.env
        native_file = Path(self._expand("{root}/" + native_path)) if native_path else None
        return FetchedAgent(
            root=self.root,
            argv=self._argv(native_file),
            source="fallback",
            version=installed[0],
            default_env={k: self._expand(v) for k, v in default_env.items()},
            env={k: self._expand(v) for k, v in self.spec.env.items()},
            path_entries=self.node.path_entries,
            native_file=native_file if native_file and native_file.exists() else None,
            native_version=native_version,
        )

    def _argv(self, native_file: Path | None) -> tuple[str, ...]:
        if self.spec.adapter is None:
            return tuple(self._expand(part) for part in self.spec.command)
        if native_file is None:
            raise CommandFailed(f"the packages of {self.spec.id} do not contain its program")
        return adapter_command(self.spec.adapter, str(native_file))

    async def from_registry(self, found: RegistryArchive | RegistryPackage) -> FetchedAgent:
        if isinstance(found, RegistryArchive):
            program = await self._download(found)
        else:
            if found.source == "npm":
                await self._choose_node(self.spec.node or _NODE_FOR_REGISTRY_AGENTS)
            async with report_growth(self.root, self.spec, self.report):
                await self._run_step(InstallStep(found.source, (found.package,)), None)
            find = npm.program_of if found.source == "npm" else pypi.program_of
            program = find(self.root, found.package)
        return FetchedAgent(
            root=self.root,
            argv=(str(program), *found.args),
            source="registry",
            version=found.version or None,
            default_env={k: v for k, v in self.spec.default_env.items() if "{root}" not in v},
            env=found.env,
            path_entries=self.node.path_entries,
        )

    async def _choose_node(self, minimum: int) -> None:
        fetching = Progress("node", "fetching Node.js")
        self.node = await find_or_install_node(
            self.layout, minimum, self.environ, lambda: self.report(fetching)
        )

    async def _run_step(self, step: InstallStep, version: str | None) -> str | None:
        """Install the packages of one step; the version of the first."""
        with_version, version_of = _VERSION_SYNTAX[step.source]
        packages = [package.replace("{platform}", npm_platform()) for package in step.packages]
        if version is not None:
            packages[0] = with_version(packages[0], version)
        folder = self.root / step.into
        self.report(Progress("packages", f"installing {', '.join(packages)}"))
        if step.source == "npm":
            await npm.npm_install(packages, folder, env=self.environ, path_entries=self.node.path_entries)
        else:
            await pypi.pypi_install(packages, folder, minimum=step.python, env=self.environ)
        self._check_files(step, folder)
        return version_of(packages[0])

    def _check_files(self, step: InstallStep, folder: Path) -> None:
        for file in step.check:
            if not os.path.exists(self._for_platform(str(folder / file))):
                missing = file.replace("{platform}", npm_platform())
                raise CommandFailed(f"{step.packages[0]} came without a part for this machine: {missing}")

    async def _download(self, found: RegistryArchive) -> Path:
        loop = asyncio.get_running_loop()

        def on_bytes(received: int, total: int | None) -> None:
            percent = received * 95 // total if total else None
            progress = Progress("download", f"fetching {self.spec.name}", received, percent)
            loop.call_soon_threadsafe(self.report, progress)

        return await asyncio.to_thread(
            download_and_unpack, found.archive, found.command, found.sha256, self.root, on_bytes
        )

    def _expand(self, text: str) -> str:
        expanded = text.replace("{root}", str(self.root)).replace("{node}", self.node.program)
        return self._for_platform(expanded)

    def _for_platform(self, path: str) -> str:
        """The path for this machine; npm chooses the musl variant on systems such as Alpine."""
        usual = path.replace("{platform}", npm_platform())
        musl = path.replace("{platform}", f"{npm_platform()}-musl")
        return musl if os.path.exists(musl) and not os.path.exists(usual) else usual
