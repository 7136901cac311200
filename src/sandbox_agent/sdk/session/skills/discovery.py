"""Finding the skills of a source, and loading their files.

A folder with a `SKILL.md` is a skill. A source is searched in this order: the folder itself, the folders in
its `skills`, its own folders.
"""

from __future__ import annotations

import asyncio
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from posixpath import basename, join, normpath
from typing import Protocol

from sandbox_agent.sdk.errors import NotFoundError, SandboxAgentError, SkillSourceError
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.skills.git_clone import cloned
from sandbox_agent.sdk.session.skills.skill import SKILL_FILE, Skill, SkillFile, read_folder
from sandbox_agent.sdk.session.skills.skill_source import SkillSource


class SourceTree(Protocol):
    """The directories of a source."""

    async def directories(self, path: str) -> list[str]: ...
    async def has_file(self, path: str) -> bool: ...
    async def load(self, path: str) -> dict[str, SkillFile]: ...


async def fetch_skills(files: AsyncFiles, directory: str, sources: Iterable[SkillSource]) -> list[Skill]:
    """The skills of all sources; of two with the same name the later one.

    `directory` is the start of relative local paths. Raises `SkillSourceError`.
    """
    found: dict[str, Skill] = {}
    for source in sources:
        for skill in await _fetch(files, directory, source):
            found[skill.name] = skill
    return list(found.values())


async def _fetch(files: AsyncFiles, directory: str, source: SkillSource) -> list[Skill]:
    if source.type == "local":
        path = normpath(join(directory, source.source)).removesuffix(f"/{SKILL_FILE}")
        root = join(path, source.subpath) if source.subpath else path
        try:
            return await _select(SandboxTree(files), root, basename(normpath(root)), source)
        except SkillSourceError:
            raise
        except SandboxAgentError as error:
            raise SkillSourceError(source.source, str(error)) from error
    async with cloned(source) as clone:
        name = basename(normpath(source.subpath or source.url)).removesuffix(".git")
        found = await _select(ClonedTree(clone), source.subpath or ".", name, source)
        return [Skill(skill.name, skill.files) for skill in found]


async def _select(tree: SourceTree, root: str, own_name: str, source: SkillSource) -> list[Skill]:
    available = await _discover(tree, root, own_name)
    wanted = list(available) if source.skills is None else source.skills
    if missing := [name for name in wanted if name not in available]:
        known = ", ".join(available) or "none"
        raise SkillSourceError(source.source, f"has no skill {', '.join(missing)}; found: {known}")
    if not wanted and source.skills is None:
        raise SkillSourceError(source.source, f"has no folder with a {SKILL_FILE}")
    return [Skill(name, await tree.load(available[name]), available[name]) for name in wanted]


async def _discover(tree: SourceTree, root: str, own_name: str) -> dict[str, str]:
    if await tree.has_file(join(root, SKILL_FILE)):
        return {own_name: root}
    found: dict[str, str] = {}
    for base in (join(root, "skills"), root):
        for name in sorted(await tree.directories(base)):
            if not name.startswith(".") and await tree.has_file(join(base, name, SKILL_FILE)):
                found.setdefault(name, join(base, name))
    return found


class SandboxTree:
    """Directories of the sandbox."""

    def __init__(self, files: AsyncFiles) -> None:
        self._files = files

    async def directories(self, path: str) -> list[str]:
        try:
            return [entry.name for entry in await self._files.list(path) if entry.is_dir]
        except NotFoundError:
            return []

    async def has_file(self, path: str) -> bool:
        try:
            return not (await self._files.stat(path)).is_dir
        except NotFoundError:
            return False

    async def load(self, path: str) -> dict[str, SkillFile]:
        """The files of a folder, copied through the server."""
        with tempfile.TemporaryDirectory(prefix="sandbox-agent-skill-") as folder:
            try:
                await self._files.download_dir(path, folder)
            except tarfile.TarError as error:
                raise SkillSourceError(path, str(error)) from error
            return await asyncio.to_thread(read_folder, Path(folder))


class ClonedTree:
    """Directories of a repository on this machine. Links out of the repository are not followed."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    async def directories(self, path: str) -> list[str]:
        folder = self._inside(path)
        return [entry.name for entry in folder.iterdir() if entry.is_dir()] if folder.is_dir() else []

    async def has_file(self, path: str) -> bool:
        return self._inside(path).is_file()

    async def load(self, path: str) -> dict[str, SkillFile]:
        return await asyncio.to_thread(read_folder, self._inside(path))

    def _inside(self, path: str) -> Path:
        resolved = (self._root / path).resolve()
        if not resolved.is_relative_to(self._root):
            raise SkillSourceError(path, "leads out of the repository")
        return resolved
