"""A shallow copy of a Git repository in a temporary directory of this machine.

The sandbox may have neither Git nor network access, and the server runs no commands for clients, so the
client fetches. A source that was read from a file in the sandbox may use HTTP only and none of the caller's
credentials: an agent can write that file.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from sandbox_agent.sdk.errors import SkillSourceError
from sandbox_agent.sdk.session.skills.skill_source import SkillSource

FETCH_LIMIT_S = 120.0
_TRUSTED_PROTOCOLS = "file:git:http:https:ssh"
_OTHER_PROTOCOLS = "http:https"
_ALL_REFS = ("+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*")


@asynccontextmanager
async def cloned(source: SkillSource) -> AsyncIterator[Path]:
    """The files of the repository at `ref`; removed when the block ends."""
    with tempfile.TemporaryDirectory(prefix="sandbox-agent-skills-") as folder:
        git = _Git(source, Path(folder))
        try:
            async with asyncio.timeout(FETCH_LIMIT_S):
                await git.run("init", "--quiet")
                await _check_out(git, source)
        except TimeoutError:
            raise SkillSourceError(source.source, f"git took more than {FETCH_LIMIT_S:.0f} s") from None
        yield Path(folder)


async def _check_out(git: _Git, source: SkillSource) -> None:
    wanted = source.ref or "HEAD"
    try:
        await git.run("fetch", "--quiet", "--depth", "1", "--", source.url, wanted)
        found = "FETCH_HEAD"
    except SkillSourceError:
        # Some servers give neither single commits nor shallow copies.
        if source.ref is None:
            await git.run("fetch", "--quiet", "--", source.url, wanted)
            found = "FETCH_HEAD"
        else:
            await git.run("fetch", "--quiet", "--update-head-ok", "--", source.url, *_ALL_REFS)
            found = wanted
    await git.run("checkout", "--quiet", "--force", "--detach", found)


def _trusted_environment() -> dict[str, str]:
    """That of this program, without the variables that name another repository."""
    inherited = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")
    known = {name: value for name, value in os.environ.items() if name not in inherited}
    return known | {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": _TRUSTED_PROTOCOLS}


def _other_environment(folder: Path) -> dict[str, str]:
    """Without the user's configuration, `.netrc` and anything that could ask for or name a password."""
    known = {
        name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_", "XDG_"))
    }
    return known | {
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": _OTHER_PROTOCOLS,
    }


class _Git:
    """Runs Git commands in one repository."""

    def __init__(self, source: SkillSource, folder: Path) -> None:
        self._source = source
        self._folder = folder
        self._environment = _trusted_environment() if source.trusted else _other_environment(folder)

    async def run(self, *arguments: str) -> None:
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                *arguments,
                cwd=self._folder,
                env=self._environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.PIPE,
            )
        except FileNotFoundError:
            raise SkillSourceError(self._source.source, "git is not installed on this machine") from None
        try:
            _, errors = await process.communicate()
        except BaseException:
            process.kill()
            await process.wait()
            raise
        if process.returncode:
            reason = errors.decode("utf-8", "replace").strip() or f"git exited with {process.returncode}"
            raise SkillSourceError(self._source.source, reason)
