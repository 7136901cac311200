"""The installed skills of one directory in the sandbox.

Skills are copied to a staging folder and moved from there to their place in one step that never replaces
anything, so a skill of the user is never overwritten. The manifest says which session uses which skill; a
skill without a session is removed, unless one of its files was changed. Everything goes through the server's
file API, because the sandbox may be on another machine.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Collection
from datetime import datetime, timedelta
from posixpath import dirname, join

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.errors import BadRequestError, NotFoundError, SandboxAgentError, SkillSourceError
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.resources.models import FileInfo
from sandbox_agent.sdk.session.skills.directory_lock import locked
from sandbox_agent.sdk.session.skills.discovery import SandboxTree
from sandbox_agent.sdk.session.skills.git_exclude import exclude
from sandbox_agent.sdk.session.skills.manifest import Holder, InstalledSkill, Manifest
from sandbox_agent.sdk.session.skills.skill import Skill, pack
from sandbox_agent.sdk.transport.http_api import HttpApi

log = logging.getLogger("sandbox_agent")

PRODUCT_FOLDER = ".sandbox-agent"
SKILLS_FOLDER = ".sandbox-agent/skills"
# Folders that exist for a moment only; one of this age was left by a client that died.
STAGED, REMOVED = "staged-", "removed-"
LEFT_OVER_AFTER = timedelta(minutes=10)


class SkillDirectory:
    """Installs skills for sessions and removes them again."""

    def __init__(self, api: HttpApi, directory: str) -> None:
        self._api = api
        self._files = AsyncFiles(api)
        self._directory = directory
        self._swept = False

    async def install(
        self, session_id: str, holder: Holder, skills: Collection[Skill], folder: str
    ) -> dict[str, str]:
        """Put the skills into `folder` for a session; returns those that were not, and why."""
        staging = join(PRODUCT_FOLDER, f"{STAGED}{uuid.uuid4().hex}")
        refused: dict[str, str] = {}
        await self._stage(skills, staging)
        try:
            async with locked(self._api, self._path(SKILLS_FOLDER, "lock")):
                manifest = await self._load()
                await self._drop_dead_sessions(manifest)
                manifest.forget_session(session_id)
                manifest.sessions[session_id] = holder
                for skill in skills:
                    reason = await self._place(manifest, session_id, skill, folder, staging)
                    if reason is not None:
                        refused[skill.name] = reason
                await self._remove_unused(manifest)
                await self._save(manifest)
        finally:
            await self._delete(staging)
            await self._remove_if_empty(PRODUCT_FOLDER)
        return refused

    async def release(self, session_id: str) -> None:
        """Remove the skills that only this session has used."""
        if not await self._files.exists(self._path(SKILLS_FOLDER)):
            return
        async with locked(self._api, self._path(SKILLS_FOLDER, "lock")):
            manifest = await self._load()
            manifest.forget_session(session_id)
            await self._remove_unused(manifest)
            await self._save(manifest)

    async def sweep(self) -> None:
        """Remove, once, what sessions have left whose client or server died."""
        if self._swept:
            return
        self._swept = True
        try:
            entries = await self._files.list(self._path(PRODUCT_FOLDER))
        except NotFoundError:
            return
        momentary = [one for one in entries if one.name.startswith((STAGED, REMOVED))]
        if not momentary and not any(one.name == "skills" for one in entries):
            return
        lock = self._path(SKILLS_FOLDER, "lock")
        async with locked(self._api, lock):
            await self._remove_older(momentary, await self._files.stat(lock))
            manifest = await self._load()
            await self._drop_dead_sessions(manifest)
            await self._remove_unused(manifest)
            await self._save(manifest)

    async def _stage(self, skills: Collection[Skill], staging: str) -> None:
        archive = pack(skills)
        for last in (False, False, True):
            try:
                await self._files.upload_tar(archive, self._path(staging))
                return
            except NotFoundError:
                # Another client has removed the empty product folder at this moment.
                if last:
                    raise

    # -- under the lock ---------------------------------------------------------------------------------

    async def _place(
        self, manifest: Manifest, session_id: str, skill: Skill, folder: str, staging: str
    ) -> str | None:
        """Install one skill; returns why not."""
        target = join(folder, skill.name)
        if skill.path == self._path(target):
            return None  # the source is the very place where the agent looks
        known = manifest.skills.get(target)
        if known is not None and known.files != skill.digests:
            if known.sessions:
                return "another session uses a different skill of this name"
            await self._remove(manifest, target)
            known = manifest.skills.get(target)
        if known is not None and await self._files.exists(self._path(target)):
            known.sessions.add(session_id)
            return None
        if await self._files.exists(self._path(target)):
            return f"{self._path(target)} exists and was not installed by this library"
        manifest.created += await self._missing_parents(target)
        manifest.skills[target] = InstalledSkill(skill.digests, {session_id})
        # Before the move: a client that dies in between leaves nothing that the manifest does not list.
        await self._write(manifest)
        try:
            await self._files.move(self._path(staging, skill.name), self._path(target))
        except BadRequestError:
            del manifest.skills[target]
            return f"{self._path(target)} exists and was not installed by this library"
        return None

    async def _drop_dead_sessions(self, manifest: Manifest) -> None:
        if not manifest.sessions:
            return
        answer = await self._api.request("GET", "/v1/acp")
        running = {
            (one.get("serverId"), one.get("createdAtMs"))
            for one in json_codec.decode(answer.content).get("servers") or []
            if one.get("status", "running") != "exited"
        }
        for session_id, holder in list(manifest.sessions.items()):
            if (holder.server_id, holder.created_at_ms) not in running and not await self._runs(holder.pid):
                log.info("session %s left skills in %s", session_id, self._directory)
                manifest.forget_session(session_id)

    async def _runs(self, pid: int | None) -> bool:
        """Whether a process of another server in the same sandbox still runs."""
        if pid is None:
            return False
        try:
            return await self._files.exists(f"/proc/{pid}")
        except SandboxAgentError:
            return False  # outside the root that the server allows

    async def _remove_unused(self, manifest: Manifest) -> None:
        for path in manifest.unused:
            await self._remove(manifest, path)
        if not manifest.skills:
            for folder in reversed(manifest.created):
                await self._remove_if_empty(folder)
            manifest.created = []

    async def _remove(self, manifest: Manifest, path: str) -> None:
        """Remove one skill, unless it was changed; then it belongs to the user from now on."""
        skill = manifest.skills.pop(path)
        try:
            present = Skill(path, await SandboxTree(self._files).load(self._path(path)))
        except NotFoundError:
            return
        except SkillSourceError:
            present = Skill(path, {})
        if present.digests != skill.files:
            log.warning("the skill %s was changed and stays", self._path(path))
            return
        await self._delete(path)

    async def _remove_older(self, entries: list[FileInfo], now: FileInfo) -> None:
        """Remove folders that were left over; `now` is a file that the sandbox has just written."""
        for entry in entries:
            if entry.modified is not None and now.modified is not None:
                age = datetime.fromisoformat(now.modified) - datetime.fromisoformat(entry.modified)
                if age > LEFT_OVER_AFTER:
                    await self._delete(join(PRODUCT_FOLDER, entry.name))

    async def _remove_if_empty(self, path: str) -> None:
        try:
            await self._files.delete(self._path(path))
        except (NotFoundError, BadRequestError):
            return

    async def _missing_parents(self, target: str) -> list[str]:
        """The parents of a skill that will be created with it, the outermost first."""
        missing: list[str] = []
        parent = dirname(target)
        while parent and not await self._files.exists(self._path(parent)):
            missing.insert(0, parent)
            parent = dirname(parent)
        return missing

    async def _load(self) -> Manifest:
        path = self._path(SKILLS_FOLDER, "manifest.json")
        try:
            return Manifest.decode(await self._files.read(path))
        except NotFoundError:
            return Manifest()
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise SkillSourceError(path, f"is not a manifest: {error}") from error

    async def _save(self, manifest: Manifest) -> None:
        """Write the manifest and the list for Git; an empty manifest is removed with its folder."""
        if manifest.skills:
            await self._write(manifest)
            await exclude(self._api, self._directory, [SKILLS_FOLDER, *manifest.skills])
            return
        await exclude(self._api, self._directory, [])
        # Moved first, which also gives the lock free: a client that comes now begins with a new folder.
        removed = join(PRODUCT_FOLDER, f"{REMOVED}{uuid.uuid4().hex}")
        await self._files.move(self._path(SKILLS_FOLDER), self._path(removed))
        await self._delete(removed)
        await self._remove_if_empty(PRODUCT_FOLDER)

    async def _write(self, manifest: Manifest) -> None:
        await self._files.write(self._path(SKILLS_FOLDER, "manifest.json"), manifest.encode())

    async def _delete(self, path: str) -> None:
        try:
            await self._files.delete(self._path(path), recursive=True)
        except NotFoundError:
            return

    def _path(self, *parts: str) -> str:
        return join(self._directory, *parts)
