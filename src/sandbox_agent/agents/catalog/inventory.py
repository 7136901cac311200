"""What `GET /v1/agents` says of each agent: is it here, which version, what can it do.

Everything that may be slow is bounded: files are read in threads, `--version` of a foreign program gets two
seconds and is remembered, and models come from a probe that runs behind the answer.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_agent.agents import credentials
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES
from sandbox_agent.agents.catalog.catalog import AgentSpec, Catalog
from sandbox_agent.agents.catalog.session_options import models_and_modes, static_options
from sandbox_agent.agents.install.command import CommandFailed, run_command
from sandbox_agent.agents.launch.launcher import Launcher
from sandbox_agent.agents.launch.options_probe import Prober
from sandbox_agent.agents.launch.program import Program, find_program
from sandbox_agent.agents.layout import Layout

_VERSION_LIMIT_S = 2.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class Inventory:
    """Describes agents. One per server."""

    def __init__(
        self,
        catalog: Catalog,
        layout: Layout,
        launcher: Launcher,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._catalog = catalog
        self._layout = layout
        self._launcher = launcher
        self._environ = os.environ if environ is None else environ
        self._prober = Prober()
        self._versions: dict[tuple[object, ...], str | None] = {}

    async def describe_all(self, *, config: bool = False, no_cache: bool = False) -> list[dict[str, Any]]:
        """Every agent, in the order of the catalogue."""
        ids = self._catalog.ids()
        return await asyncio.gather(*(self.describe(i, config=config, no_cache=no_cache) for i in ids))

    async def describe(
        self, agent_id: str, *, config: bool = False, no_cache: bool = False
    ) -> dict[str, Any]:
        """One agent, its keys in the order of the wire. Raises `UnsupportedAgent`."""
        spec = self._catalog.get(agent_id)
        program, has_credentials = await asyncio.to_thread(self._look, spec)
        installed = program is not None or spec.builtin
        info: dict[str, Any] = {
            "id": agent_id,
            "installed": installed,
            "credentialsAvailable": has_credentials,
        }
        if config:
            info |= await self._version_and_path(spec, program, no_cache)
        info["capabilities"] = {flag: flag in spec.capabilities for flag in CAPABILITIES}
        if config:
            info |= self._options(spec, program, installed, has_credentials)
        return info

    async def aclose(self) -> None:
        await self._prober.aclose()

    def _look(self, spec: AgentSpec) -> tuple[Program | None, bool]:
        return (
            find_program(spec, self._layout, self._environ),
            credentials.available_for(spec, self._environ),
        )

    async def _version_and_path(
        self, spec: AgentSpec, program: Program | None, no_cache: bool
    ) -> dict[str, str]:
        if program is None:
            return {"version": "builtin", "path": str(self._layout.bin / spec.id)} if spec.builtin else {}
        if program.build is not None:
            version = program.build.version
        else:
            version = await self._asked_version((program.path,), no_cache)
        return ({"version": version} if version else {}) | {"path": program.path}

    async def _asked_version(self, argv: Sequence[str], no_cache: bool) -> str | None:
        """What the program says to `--version`, within two seconds."""
        key = _identity(argv)
        if key not in self._versions or no_cache:
            try:
                command = [argv[0], "--version"]
                env = dict(self._environ)
                output = await run_command(command, cwd=Path("/"), env=env, limit_s=_VERSION_LIMIT_S)
            except CommandFailed:
                output = ""
            found = _VERSION.search(output)
            self._versions[key] = found[0] if found else None
        return self._versions[key]

    def _options(
        self, spec: AgentSpec, program: Program | None, installed: bool, has_credentials: bool
    ) -> dict[str, Any]:
        info: dict[str, Any] = {}
        options = static_options(spec)
        if program is not None and has_credentials:
            report = self._prober.report(
                spec.id, _identity(program.argv), lambda: self._launcher.prepare(spec.id)
            )
            if report is not None:
                options = list(report.options) or options
                if report.error is not None:
                    info["configError"] = report.error
        info = {"configOptions": options} | info
        return info | (models_and_modes(options) if installed else {})


def _identity(argv: Sequence[str]) -> tuple[object, ...]:
    """Changes when the program is replaced."""
    try:
        stat = os.stat(argv[0])
        return (*argv, stat.st_mtime_ns, stat.st_ino)
    except OSError:
        return tuple(argv)
