"""From an agent's id to the process to start: command, environment and working directory.

`Launcher.prepare` installs a missing agent first, unless that is switched off. The child gets the server's
environment, then the catalogue's variables, then those of the instance; none of them is ever logged. `mock`
is part of this package and needs no install.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.launch.key_names import other_names, other_names_of_instance
from sandbox_agent.agents.launch.program import Program, find_program
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.errors import AgentNotInstalled, InvalidRequest, StreamError
from sandbox_agent.runtime.package_path import PACKAGE_PARENT

if TYPE_CHECKING:
    # The installer loads asyncio, which a server whose agents are installed does not need.
    from sandbox_agent.agents.install.installer import Installer

_TRUE = frozenset({"1", "true", "yes", "on"})


class Launcher:
    """Prepares agents for the bridge. One per server; can be used by many tasks at once.

    `installer` is called when something has to be installed.
    """

    def __init__(
        self,
        catalog: Catalog,
        layout: InstallLayout,
        installer: Callable[[], Installer],
        *,
        server_executable: str,
        pass_credentials: bool = False,
        environ: Mapping[str, str] | None = None,
        inherited: Mapping[str, str] | None = None,
    ) -> None:
        """`environ` is where settings and programs are searched, `inherited` the part that agents get."""
        self._catalog = catalog
        self._layout = layout
        self._installer = installer
        self._server_executable = server_executable
        self._pass_credentials = pass_credentials
        self._environ = os.environ if environ is None else environ
        self._inherited = self._environ if inherited is None else inherited

    async def prepare(
        self,
        agent_id: str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> LaunchSpec:
        """How to start the agent now.

        Raises `UnsupportedAgent`, `InvalidRequest` (unusable directory or variables), `AgentNotInstalled`
        (with preinstall required), `InstallFailed` or `StreamError` (no program at the user's command).
        """
        import asyncio  # loaded on first use

        spec = self._checked_spec(agent_id, env)
        directory = _directory(spec, cwd)
        # In a thread: the directory may be on a slow network disk.
        if cwd is not None and not await asyncio.to_thread(os.path.isdir, directory):
            raise InvalidRequest(f"the working directory '{cwd}' does not exist")
        launch = self._launch_spec(spec, directory, env)
        if launch is None:
            await self._installer().install(agent_id)
            launch = self._launch_spec(spec, directory, env)
            if launch is None:
                raise AgentNotInstalled(agent_id)
        return launch

    def spec_if_installed(
        self, agent_id: str, *, cwd: str | None = None, env: Mapping[str, str] | None = None
    ) -> LaunchSpec | None:
        """How to start the agent; None if it has to be installed first. `cwd` is not checked.

        Raises as `prepare` does.
        """
        spec = self._checked_spec(agent_id, env)
        return self._launch_spec(spec, _directory(spec, cwd), env)

    def environment_of(self, agent_id: str) -> dict[str, str]:
        """The environment of an instance of the agent for which a client sets no variables."""
        return self._environment(self._catalog.get(agent_id), None)

    @property
    def requires_preinstall(self) -> bool:
        return self._environ.get("SANDBOX_AGENT_REQUIRE_PREINSTALL", "").strip().lower() in _TRUE

    def _checked_spec(self, agent_id: str, env: Mapping[str, str] | None) -> AgentSpec:
        spec = self._catalog.get(agent_id)
        _check_variables(env or {})
        return spec

    def _launch_spec(
        self, spec: AgentSpec, directory: str, env: Mapping[str, str] | None
    ) -> LaunchSpec | None:
        """None if the agent has to be installed first."""
        program = self._find(spec)
        if program is not None:
            return LaunchSpec(
                program.argv, self._environment(spec, env), directory, sigterm_at_once=spec.sigterm_at_once
            )
        if spec.is_local:
            raise StreamError(f"failed to start agent process: {spec.command[0]} is not an executable file")
        if self.requires_preinstall:
            raise AgentNotInstalled(spec.id)
        return None

    def _find(self, spec: AgentSpec) -> Program | None:
        found = find_program(spec, self._layout, self._environ)
        if found is None and spec.builtin:
            # -P: the agent's directory must not shadow the modules of the mock.
            argv = (sys.executable, "-P", "-m", "sandbox_agent.agents.mock")
            return Program(argv, "builtin")
        return found

    def _environment(self, spec: AgentSpec, extra: Mapping[str, str] | None) -> dict[str, str]:
        environment = {k: v for k, v in spec.default_env.items() if "{root}" not in v}
        if self._pass_credentials and spec.credentials:
            from sandbox_agent.agents.credentials import exported_keys  # loaded on first use

            environment |= exported_keys(spec, self._environ)
        environment.update(self._inherited)
        environment["SANDBOX_AGENT_BIN"] = self._server_executable
        environment |= {k: v for k, v in spec.env.items() if "{root}" not in v}
        if spec.builtin or spec.adapter:
            _make_importable(environment)
        environment |= other_names(spec, environment)
        if extra:
            environment |= other_names_of_instance(spec, extra)
            environment.update(extra)
        return environment


def _directory(spec: AgentSpec, cwd: str | None) -> str:
    return os.path.abspath(cwd or spec.cwd or ".")


def _check_variables(variables: Mapping[str, str]) -> None:
    """Refuse variables that no process can have; values may be secrets and are not repeated."""
    for name, value in variables.items():
        if not name or "=" in name or "\0" in name or "\0" in value:
            raise InvalidRequest("a variable needs a name without `=`, and neither may hold a NUL")


def _make_importable(environment: dict[str, str]) -> None:
    """Let a child of this interpreter import this package when it runs from a zip or a plain folder."""
    if os.path.isfile(PACKAGE_PARENT) or (sys.path and os.path.abspath(sys.path[0]) == PACKAGE_PARENT):
        paths = [PACKAGE_PARENT, environment.get("PYTHONPATH", "")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
