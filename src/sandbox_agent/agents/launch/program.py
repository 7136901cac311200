"""Which program stands for an agent right now, without installing anything.

In this order: the launcher file in the data directory (ours or the user's), the user's own command from
the agents file, the program on PATH. Looking costs a few `stat` calls and starts no process.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from sandbox_agent.agents.install.launcher_script import read_build

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sandbox_agent.agents.catalog.agent_spec import AgentSpec
    from sandbox_agent.agents.install.launcher_script import Build
    from sandbox_agent.agents.layout import Layout


class Program:
    """A program that can be started as it is."""

    __slots__ = ("argv", "build", "native", "origin")

    def __init__(
        self, argv: tuple[str, ...], origin: str, build: Build | None = None, native: str | None = None
    ) -> None:
        self.argv = argv
        self.origin = origin
        """`launcher`, `local` (the user's command), `path`, `adapter` (ours) or `builtin`."""
        self.build = build
        self.native = native
        """The vendor's program behind an adapter of ours."""

    @property
    def path(self) -> str:
        return self.native or self.argv[0]


def find_program(spec: AgentSpec, layout: Layout, environ: Mapping[str, str]) -> Program | None:
    """What `spec` would be started with, or None if it has to be installed first."""
    launcher = layout.launcher_file(spec.id)
    try:
        # A launcher of ours whose packages were deleted is no launcher any more.
        return Program((launcher,), "launcher", read_build(launcher))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        pass
    search_path = environ.get("PATH", os.defpath)
    if spec.is_local:
        found = _which(spec.command[0], search_path, spec.cwd)
        return Program((found, *spec.command[1:]), "local") if found else None
    if spec.adapter and (native := _native(spec.native or spec.adapter, layout, search_path)):
        return Program(adapter_command(spec.adapter, native), "adapter", native=native)
    if spec.on_path and (found := _find_on_path(spec.on_path[0], search_path)):
        if spec.native is None or _native_is_there(spec.native, layout, search_path):
            return Program((found, *spec.on_path[1:]), "path")
    return None


def _find_on_path(name: str, search_path: str) -> str | None:
    """As shutil.which, without what importing shutil costs the first agent."""
    for folder in search_path.split(os.pathsep):
        path = os.path.join(folder, name)
        if os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return None


def _which(command: str, search_path: str, cwd: str | None) -> str | None:
    if "/" not in command:
        return _find_on_path(command, search_path)
    path = os.path.expanduser(command)
    if not os.path.isabs(path):
        from pathlib import Path  # most people name the whole path

        path = str(Path(cwd or ".", path).absolute())
    return path if os.access(path, os.X_OK) and os.path.isfile(path) else None


def _native_is_there(name: str, layout: Layout, search_path: str) -> bool:
    return _native(name, layout, search_path) is not None


def _native(name: str, layout: Layout, search_path: str) -> str | None:
    ours = layout.native_file(name)
    return ours if os.access(ours, os.X_OK) else _find_on_path(name, search_path)


def adapter_command(adapter: str, native: str) -> tuple[str, ...]:
    """How our own adapter is started; -P: the agent's directory must not shadow our modules."""
    module = "sandbox_agent.agents.adapters"
    return (sys.executable, "-P", "-m", module, adapter, "--program", native)
