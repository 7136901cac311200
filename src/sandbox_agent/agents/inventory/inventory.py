"""What `GET /v1/agents` answers for each agent: whether it is installed, its version, its capabilities.

Slow work is bounded: files are read in threads, `--version` of a program gets 2 s and is cached. Models and
modes are those that the agent reported to a probe, which runs after the response; `configStatus` says whether
they are known.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_agent.agents import credentials
from sandbox_agent.agents.catalog.agent_spec import CAPABILITIES, AgentSpec
from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.command_runner import CommandFailed, run_command
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.inventory.config_options import Option, models_and_modes, reported_options
from sandbox_agent.agents.inventory.options_probe import OptionsProbe
from sandbox_agent.agents.launch.launcher import Launcher
from sandbox_agent.agents.launch.program import Program, find_program
from sandbox_agent.bridge.process.limits import ProcessLimits

_VERSION_LIMIT_S = 2.0
_VERSION = re.compile(r"\d+\.\d+[\w.+-]*")


class Inventory:
    """Describes agents. One per server."""

    def __init__(
        self,
        catalog: Catalog,
        layout: InstallLayout,
        launcher: Launcher,
        *,
        environ: Mapping[str, str] | None = None,
        process_limits: ProcessLimits | None = None,
    ) -> None:
        """`process_limits`: user and limits of the agents, which a probe has too."""
        self._catalog = catalog
        self._layout = layout
        self._launcher = launcher
        self._environ = os.environ if environ is None else environ
        self._limits = process_limits or ProcessLimits()
        self._probe = OptionsProbe(self._limits, layout.probe)
        self._versions: dict[tuple[object, ...], str | None] = {}

    async def describe_all(self, *, config: bool = False, no_cache: bool = False) -> list[dict[str, Any]]:
        """Every agent, in the order of the catalogue."""
        ids = self._catalog.ids()
        return await asyncio.gather(*(self.describe(i, config=config, no_cache=no_cache) for i in ids))

    async def describe(
        self, agent_id: str, *, config: bool = False, no_cache: bool = False
    ) -> dict[str, Any]:
        """One agent, with its keys in the order of the response. Raises `UnsupportedAgent`."""
        spec = self._catalog.get(agent_id)
        program, has_credentials = await asyncio.to_thread(self._search, spec)
        installed = program is not None or spec.builtin
        info: dict[str, Any] = {
            "id": agent_id,
            "name": spec.name,
            "installed": installed,
            "credentialsAvailable": has_credentials,
        }
        variables = credentials.credential_variables(spec)
        if variables:
            info["credentialVariables"] = variables
        if spec.quirks:
            info["quirks"] = list(spec.quirks)
        if config:
            info |= await self._version_and_path(spec, program, no_cache)
        info["capabilities"] = {flag: flag in spec.capabilities for flag in CAPABILITIES}
        if spec.asks is not None:
            info["permissionRequests"] = spec.asks
        if spec.skills_directory is not None:
            info["skillsDirectory"] = spec.skills_directory
        if spec.allowed_tools is not None:
            info["allowedToolsParameter"] = spec.allowed_tools
        if config:
            info |= self._options(spec, program, has_credentials)
        return info

    async def aclose(self) -> None:
        await self._probe.aclose()

    def _search(self, spec: AgentSpec) -> tuple[Program | None, bool]:
        """The program of the agent, and whether its environment and home have a credential."""
        variables = {**self._launcher.environment_of(spec.id), **self._limits.environment()}
        home = Path(variables.get("HOME") or os.path.expanduser("~"))
        return (
            find_program(spec, self._layout, self._environ),
            credentials.available_for(spec, variables, home),
        )

    async def _version_and_path(
        self, spec: AgentSpec, program: Program | None, no_cache: bool
    ) -> dict[str, str]:
        if program is None:
            return (
                {"version": "builtin", "path": self._layout.native_program(spec.id)} if spec.builtin else {}
            )
        if program.build is not None:
            version = program.build.version
        else:
            version = await self._reported_version(program.path, no_cache)
        return ({"version": version} if version else {}) | {"path": program.path}

    async def _reported_version(self, path: str, no_cache: bool) -> str | None:
        """The version in the output of `--version`, which gets 2 s."""
        key = _identity((path,))
        if key not in self._versions or no_cache:
            try:
                output = await run_command(
                    [path, "--version"], cwd=Path("/"), env=self._environ, limit_s=_VERSION_LIMIT_S
                )
            except CommandFailed:
                output = ""
            found = _VERSION.search(output)
            self._versions[key] = found[0] if found else None
        return self._versions[key]

    def _options(self, spec: AgentSpec, program: Program | None, has_credentials: bool) -> dict[str, Any]:
        """What the agent itself has reported, or why nothing is known."""
        if program is None and spec.builtin:
            return _known(_mock_options())
        if program is None or not has_credentials:
            return {"configStatus": "unknown"}
        probed = self._probe.options_of(
            spec, _identity(program.argv), lambda: self._launcher.prepare(spec.id)
        )
        if probed is None:
            return {"configStatus": "asking"}
        if probed.error is not None:
            return {"configStatus": "failed", "configError": probed.error}
        return _known(list(probed.options))


def _known(options: list[Option]) -> dict[str, Any]:
    return {"configStatus": "known", "configOptions": options} | models_and_modes(options)


def _mock_options() -> list[Option]:
    from sandbox_agent.agents.mock import config_options as mock

    return reported_options({"configOptions": mock.config_options(mock.default_values())})


def _identity(argv: Sequence[str]) -> tuple[object, ...]:
    """A value that changes when the program is replaced."""
    try:
        stat = os.stat(argv[0])
        return (*argv, stat.st_mtime_ns, stat.st_ino)
    except OSError:
        return tuple(argv)
