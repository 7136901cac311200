"""Install packages with npm into a folder of their own.

The catalogue always gives versions: without one npm may silently choose an old release that fits the running
Node.js. If the network fails, the install is repeated with --offline, from npm's cache.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox_agent.agents.install.command_runner import CommandFailed, run_command

_NO_NETWORK = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b"
)
_OPTIONS = (
    "--no-audit",
    "--no-fund",
    "--no-progress",
    "--no-package-lock",
    "--loglevel=error",
    "--fetch-retries=2",
    "--fetch-retry-mintimeout=1000",
    "--fetch-retry-maxtimeout=5000",
)
_LIMIT_S = 600
_NO_NPM = "npm was not found on PATH. Install Node.js with npm, or put the agent itself on PATH."


async def npm_install(
    packages: Sequence[str],
    folder: Path,
    *,
    env: Mapping[str, str],
    path_entries: Sequence[str] = (),
) -> None:
    """Put `packages` into `folder/node_modules`; raises `CommandFailed` with npm's output."""
    environment = dict(env)
    environment["PATH"] = os.pathsep.join([*path_entries, env.get("PATH", os.defpath)])
    npm = shutil.which("npm", path=environment["PATH"])
    if npm is None:
        raise CommandFailed(_NO_NPM)
    await asyncio.to_thread(_make_project, folder)
    command = [npm, "install", *_OPTIONS]
    try:
        await run_command([*command, "--", *packages], cwd=folder, env=environment, limit_s=_LIMIT_S)
    except CommandFailed as error:
        if not _NO_NETWORK.search(error.tail):
            raise
        offline = [*command, "--offline", "--", *packages]
        try:
            await run_command(offline, cwd=folder, env=environment, limit_s=_LIMIT_S)
        except CommandFailed:
            raise error from None


def _make_project(folder: Path) -> None:
    """A package.json of its own keeps npm from using a project in a parent directory."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true}\n', "utf-8")


def with_version(package: str, version: str) -> str:
    """`name@old` or `name` as `name@version`."""
    return f"{_name_of(package)}@{version}"


def version_of(package: str) -> str | None:
    """The version of `name@version`."""
    return package[package.index("@", 1) + 1 :] if "@" in package[1:] else None


def program_of(root: Path, package: str) -> Path:
    """The program of an installed package: the one with the package's name, or its first."""
    name = _name_of(package)
    manifest = json.loads((root / "node_modules" / name / "package.json").read_text("utf-8"))
    bins = manifest.get("bin") or {}
    short = name.rpartition("/")[2]
    names = [short] if isinstance(bins, str) else list(bins)
    if not names:
        raise CommandFailed(f"{package} has no program")
    return root / "node_modules" / ".bin" / (short if short in names else names[0])


def _name_of(package: str) -> str:
    """`@scope/name@version` without its version."""
    return package[: package.index("@", 1)] if "@" in package[1:] else package
