"""`client.git`: what changed in a repository of the sandbox. Read-only."""

from __future__ import annotations

from os import fspath

import msgspec

from sandbox_agent.sdk.resources.git_models import GitCommit, GitDiff, GitStatus
from sandbox_agent.sdk.transport.http_api import HttpApi, RemotePath


class _CommitList(msgspec.Struct):
    commits: list[GitCommit]


class AsyncGit:
    """Repositories of the sandbox; a path may be any directory of the repository."""

    def __init__(self, api: HttpApi) -> None:
        self._api = api

    async def status(self, path: RemotePath = "") -> GitStatus:
        """The branch and the changed files; raises `NotFoundError` if there is no repository."""
        answer = await self._api.request("GET", "/v1/git/status", query={"path": fspath(path) or None})
        return msgspec.json.decode(answer.content, type=GitStatus)

    async def diff(
        self,
        path: RemotePath = "",
        *,
        base: str | None = None,
        staged: bool = False,
        file: str | None = None,
        context: int = 3,
    ) -> GitDiff:
        """What changed since `base` (default HEAD), untracked files included; of the index with `staged`."""
        query = {
            "path": fspath(path) or None,
            "base": base,
            "staged": staged or None,
            "file": file,
            "context": str(context),
        }
        answer = await self._api.request("GET", "/v1/git/diff", query=query)
        return msgspec.json.decode(answer.content, type=GitDiff)

    async def log(
        self,
        path: RemotePath = "",
        *,
        revision: str | None = None,
        file: str | None = None,
        limit: int = 50,
        skip: int = 0,
    ) -> list[GitCommit]:
        """Commits that lead to `revision` (default HEAD), newest first."""
        query = {
            "path": fspath(path) or None,
            "revision": revision,
            "file": file,
            "limit": str(limit),
            "skip": str(skip),
        }
        answer = await self._api.request("GET", "/v1/git/log", query=query)
        return msgspec.json.decode(answer.content, type=_CommitList).commits
