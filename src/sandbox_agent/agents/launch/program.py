"""Find the program that would run an agent now, without installing anything.

The order: the launcher file in the data directory (the installer's or the user's), the command of the agents
file, the program on PATH. The search costs a few `stat` calls and starts no process.
"""

import os
import sys
from collections.abc import Mapping
from typing import NamedTuple

from sandbox_agent.agents.catalog.agent_spec import AgentSpec
from sandbox_agent.agents.install.installed_build import InstalledBuild, read_build
from sandbox_agent.agents.install.layout import InstallLayout


class Program(NamedTuple):
    """A program that can be started as it is."""

    argv: tuple[str, ...]
    origin: str
    """`launcher`, `local` (the user's command), `path`, `adapter` (of this package) or `builtin`."""
    build: InstalledBuild | None = None
    native: str | None = None
    """The vendor's program behind an adapter of this package."""

    @property
    def path(self) -> str:
        return self.native or self.argv[0]


def find_program(spec: AgentSpec, layout: InstallLayout, environ: Mapping[str, str]) -> Program | None:
    """The program that would run `spec`, or None if it has to be installed first."""
    launcher = layout.launcher(spec.id)
    try:
        return Program((launcher,), "launcher", read_build(launcher))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        pass  # No launcher, or one of the installer whose packages were deleted.
    search_path = environ.get("PATH", os.defpath)
    if spec.is_local:
        found = _find_command(spec.command[0], search_path, spec.cwd)
        return Program((found, *spec.command[1:]), "local") if found else None
    if spec.adapter and (native := _find_native(spec.native or spec.adapter, layout, search_path)):
        return Program(adapter_command(spec.adapter, native), "adapter", native=native)
    if spec.on_path and (found := _which(spec.on_path[0], search_path)):
        if spec.native is None or _find_native(spec.native, layout, search_path):
            return Program((found, *spec.on_path[1:]), "path")
    return None


def adapter_command(adapter: str, native: str) -> tuple[str, ...]:
    """The command of an adapter of this package; -P: the agent's directory must not shadow its modules."""
    module = "sandbox_agent.agents.adapters"
    return (sys.executable, "-P", "-m", module, adapter, "--program", native)


def _find_command(command: str, search_path: str, cwd: str | None) -> str | None:
    """A command of the agents file: a name on PATH, or a path that is relative to the agent's directory."""
    if "/" not in command:
        return _which(command, search_path)
    path = os.path.join(os.path.abspath(cwd or "."), os.path.expanduser(command))
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None


def _find_native(name: str, layout: InstallLayout, search_path: str) -> str | None:
    installed = layout.native_program(name)
    return installed if os.access(installed, os.X_OK) else _which(name, search_path)


def _which(name: str, search_path: str) -> str | None:
    import shutil  # loads three compression libraries; agents with a launcher do not need it

    return shutil.which(name, path=search_path)
