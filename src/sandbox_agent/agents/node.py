"""A Node that is new enough: the one on PATH, or one of our own, fetched from npm into the data directory.

npm itself may run on an old Node; what it installs is then started with the newer one, which also comes
first on PATH, because agents start `node` themselves.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_agent.agents.command import CommandFailed, run_command
from sandbox_agent.agents.layout import Layout, npm_platform
from sandbox_agent.agents.lock import file_lock
from sandbox_agent.agents.npm import npm_install

NODE_VERSION = "24.21.0"


@dataclass(frozen=True, slots=True)
class Node:
    program: str
    """`node` of PATH, or the absolute path of our own."""
    path_entries: tuple[str, ...] = ()
    """What has to come first on PATH for this Node to be found."""


async def fitting_node(
    layout: Layout, minimum: int, environ: Mapping[str, str], on_fetch: Callable[[], None]
) -> Node:
    """A Node of at least the major version `minimum`; raises `CommandFailed`."""
    if await _version_on_path(environ) >= minimum:
        return Node("node")
    async with file_lock(layout.node_lock):
        home = layout.node_builds / NODE_VERSION
        program = home / "node_modules" / f"node-{npm_platform()}" / "bin" / "node"
        if not program.exists():
            on_fetch()
            await _fetch(home, program, environ)
    return Node(str(program), (str(program.parent),))


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


async def _fetch(home: Path, program: Path, environ: Mapping[str, str]) -> None:
    staging = home.with_name(f".{home.name}.{os.getpid()}")
    try:
        await npm_install([f"node-{npm_platform()}@{NODE_VERSION}"], staging, env=environ)
        inside = staging / program.relative_to(home)
        await run_command([str(inside), "--version"], cwd=staging, env=environ, limit_s=20)
        await asyncio.to_thread(shutil.rmtree, home, True)
        os.replace(staging, home)
    finally:
        await asyncio.to_thread(shutil.rmtree, staging, True)
