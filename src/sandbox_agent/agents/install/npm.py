"""Install packages with npm into a folder of their own.

Versions are always given, because npm otherwise picks an old release that fits the running Node without a
word. Without a network the packages may still be in npm's cache, so a failed fetch is tried again from it.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox_agent.agents.install.command import CommandFailed, run_command

_NO_NETWORK = re.compile(
    r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b"
)
_NO_NPM = "npm was not found on PATH. Install Node.js with npm, or put the agent itself on PATH."


async def npm_install(
    packages: Sequence[str],
    folder: Path,
    *,
    env: Mapping[str, str],
    path_entries: Sequence[str] = (),
    limit_s: float = 600,
) -> None:
    """Put `packages` into `folder/node_modules`; raises `CommandFailed` with npm's own words."""
    environment = dict(env)
    environment["PATH"] = os.pathsep.join([*path_entries, env.get("PATH", os.defpath)])
    npm = shutil.which("npm", path=environment["PATH"])
    if npm is None:
        raise CommandFailed(_NO_NPM)
    await asyncio.to_thread(_make_project, folder)
    argv = [
        *(
            npm,
            "install",
            "--no-audit",
            "--no-fund",
            "--no-progress",
            "--no-package-lock",
            "--loglevel=error",
        ),
        *("--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000"),
        *("--", *packages),
    ]
    try:
        await run_command(argv, cwd=folder, env=environment, limit_s=limit_s)
    except CommandFailed as error:
        if not _NO_NETWORK.search(error.tail):
            raise
        try:
            await run_command(
                [*argv[:2], "--offline", *argv[2:]], cwd=folder, env=environment, limit_s=limit_s
            )
        except CommandFailed:
            raise error from None


def _make_project(folder: Path) -> None:
    """A package.json of its own keeps npm from climbing up to somebody else's project."""
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "package.json"
    if not manifest.exists():
        manifest.write_text('{"private": true}\n', "utf-8")


def with_version(package: str, version: str) -> str:
    """`name@old` or `name` as `name@version`."""
    name = package[: package.index("@", 1)] if "@" in package[1:] else package
    return f"{name}@{version}"


def version_of(package: str) -> str | None:
    """The version of `name@version`."""
    return package[package.index("@", 1) + 1 :] if "@" in package[1:] else None
