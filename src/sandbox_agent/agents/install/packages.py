"""Fetch what an agent is made of into its folder, and say how it is started from there.

The catalogue's pins come first. The ACP registry is asked when there is no pin, or when a version is wanted;
if it cannot be reached, a wanted version of the pinned package is taken instead.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sandbox_agent.agents.catalog.agent_spec import AgentSpec, InstallStep
from sandbox_agent.agents.install import acp_registry, npm, pypi
from sandbox_agent.agents.install.acp_registry import Archive, Package, RegistryUnavailable
from sandbox_agent.agents.install.command import CommandFailed
from sandbox_agent.agents.install.folder_size import watched
from sandbox_agent.agents.install.node import Node, fitting_node
from sandbox_agent.agents.install.progress import Progress, ProgressListener
from sandbox_agent.agents.launch.program import adapter_command
from sandbox_agent.agents.layout import Layout, npm_platform

_NODE_FOR_UNKNOWN = 22
"""What agents of the registry get: they do not say which Node they need."""
_NODE_OF_PATH = Node("node")
_SPELLING = {
    "npm": (npm.with_version, npm.version_of),
    "pypi": (pypi.with_version, pypi.version_of),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Versions somebody asked for instead of the pinned ones."""

    process_version: str | None = None
    native_version: str | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """An agent on disk, ready to be started."""

    root: Path
    argv: tuple[str, ...]
    source: str
    version: str | None
    default_env: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    path_entries: tuple[str, ...] = ()
    native_file: Path | None = None
    native_version: str | None = None


async def fetch(
    spec: AgentSpec,
    wanted: Wanted,
    root: Path,
    layout: Layout,
    environ: Mapping[str, str],
    report: ProgressListener,
) -> Fetched:
    """Everything `spec` needs, in `root`; raises `CommandFailed`."""
    fetcher = _Fetcher(spec, root, layout, environ, report)
    # Where several packages belong together, the registry has only one of them: the wanted version is put
    # beside the other pins instead.
    is_alone = len(spec.usual_steps) == 1 and wanted.native_version is None
    asks_registry = not spec.install or (wanted.process_version is not None and is_alone)
    if spec.registry and asks_registry:
        url = environ.get("SANDBOX_AGENT_ACP_REGISTRY_URL") or acp_registry.DEFAULT_URL
        try:
            found = await acp_registry.look_up(url, spec.registry, wanted.process_version)
        except RegistryUnavailable as error:
            if not spec.install:
                raise CommandFailed(str(error)) from error
            found = None
        if found is not None:
            return await fetcher.distribution(found)
        if not spec.install:
            asked = f" in version {wanted.process_version}" if wanted.process_version else ""
            raise CommandFailed(f"the ACP registry {url} has no {spec.id} for this machine{asked}")
    if not spec.install:
        raise CommandFailed(f"{spec.id} cannot be installed: put its program on PATH")
    return await fetcher.pinned(wanted)


@dataclass(slots=True)
class _Fetcher:
    spec: AgentSpec
    root: Path
    layout: Layout
    environ: Mapping[str, str]
    report: ProgressListener
    node: Node = _NODE_OF_PATH

    async def pinned(self, wanted: Wanted) -> Fetched:
        if self.spec.node is not None or any(step.source == "npm" for step in self.spec.install):
            await self._choose_node(self.spec.node or 1)
        versions: list[str | None] = []
        native_version, native_path = None, self.spec.native_file
        default_env = dict(self.spec.default_env)
        async with watched(self.root, self.spec, self.report):
            for step in self.spec.install:
                if step.on_request and wanted.native_version is None:
                    continue
                is_main = step is self.spec.install[0]
                version = (wanted.process_version if is_main else None) or (
                    wanted.native_version if step.native else None
                )
                versions.append(await self._step(step, version))
                if step.native:
                    native_version = versions[-1]
                native_path = step.program or native_path
                default_env |= step.env
        native_file = Path(self._fill("{root}/" + native_path)) if native_path else None
        return Fetched(
            root=self.root,
            argv=self._argv(native_file),
            source="fallback",
            version=versions[0],
            default_env={k: self._fill(v) for k, v in default_env.items()},
            env={k: self._fill(v) for k, v in self.spec.env.items()},
            path_entries=self.node.path_entries,
            native_file=native_file if native_file and native_file.exists() else None,
            native_version=native_version,
        )

    def _argv(self, native_file: Path | None) -> tuple[str, ...]:
        if self.spec.adapter is None:
            return tuple(self._fill(part) for part in self.spec.command)
        if native_file is None:
            raise CommandFailed(f"the packages of {self.spec.id} came without its program")
        return adapter_command(self.spec.adapter, str(native_file))

    async def distribution(self, found: Archive | Package) -> Fetched:
        if isinstance(found, Archive):
            program = await self._archive(found)
        elif found.source == "npm":
            await self._choose_node(self.spec.node or _NODE_FOR_UNKNOWN)
            async with watched(self.root, self.spec, self.report):
                await self._step(InstallStep("npm", (found.package,)), None)
            program = _npm_program(self.root, found.package)
        else:
            async with watched(self.root, self.spec, self.report):
                await self._step(InstallStep("pypi", (found.package,)), None)
            program = _pypi_program(self.root, found.package)
        return Fetched(
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
        self.node = await fitting_node(self.layout, minimum, self.environ, lambda: self.report(fetching))

    async def _step(self, step: InstallStep, version: str | None) -> str | None:
        """Install the packages of one step; the version of the first."""
        with_version, version_of = _SPELLING[step.source]
        packages = [package.replace("{platform}", npm_platform()) for package in step.packages]
        if version is not None:
            packages[0] = with_version(packages[0], version)
        folder = self.root / step.into
        self.report(Progress("packages", f"installing {', '.join(packages)}"))
        if step.source == "npm":
            await npm.npm_install(packages, folder, env=self.environ, path_entries=self.node.path_entries)
        else:
            await pypi.pypi_install(packages, folder, minimum=step.python, env=self.environ)
        self._check(step, folder)
        return version_of(packages[0])

    def _check(self, step: InstallStep, folder: Path) -> None:
        for file in step.check:
            if not os.path.exists(self._of_platform(str(folder / file))):
                missing = file.replace("{platform}", npm_platform())
                raise CommandFailed(f"{step.packages[0]} came without a part for this machine: {missing}")

    async def _archive(self, found: Archive) -> Path:
        # Imported here: few agents come as archives.
        from sandbox_agent.agents.install.archive_download import download_and_unpack

        loop = asyncio.get_running_loop()

        def on_bytes(received: int, total: int | None) -> None:
            percent = received * 95 // total if total else None
            progress = Progress("download", f"fetching {self.spec.name}", received, percent)
            loop.call_soon_threadsafe(self.report, progress)

        return await asyncio.to_thread(
            download_and_unpack, found.archive, found.command, found.sha256, self.root, on_bytes
        )

    def _fill(self, text: str) -> str:
        filled = text.replace("{root}", str(self.root)).replace("{node}", self.node.program)
        return self._of_platform(filled)

    def _of_platform(self, path: str) -> str:
        """The path for this machine; npm may have chosen the variant for musl, as on Alpine."""
        usual = path.replace("{platform}", npm_platform())
        musl = path.replace("{platform}", f"{npm_platform()}-musl")
        return musl if os.path.exists(musl) and not os.path.exists(usual) else usual


def _npm_program(root: Path, package: str) -> Path:
    """The package's program: the one of its own name, or its only one."""
    name = package[: package.index("@", 1)] if "@" in package[1:] else package
    manifest = json.loads((root / "node_modules" / name / "package.json").read_text("utf-8"))
    bins = manifest.get("bin") or {}
    short = name.rpartition("/")[2]
    names = [short] if isinstance(bins, str) else list(bins)
    if not names:
        raise CommandFailed(f"{package} has no program")
    return root / "node_modules" / ".bin" / (short if short in names else names[0])


def _pypi_program(root: Path, package: str) -> Path:
    name = package.partition("==")[0].partition("[")[0]
    program = root / "venv" / "bin" / name
    if not program.exists():
        raise CommandFailed(f"{package} has no program named {name}")
    return program
