"""`/v1/git`: what changed in a repository. Read-only; nothing of the repository is executed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from sandbox_agent import errors
from sandbox_agent.http.json_body import json_response
from sandbox_agent.http.messages import Request, Response
from sandbox_agent.http.openapi.operation import (
    BoundedInteger,
    Content,
    Flag,
    Operation,
    OptionalText,
    ResponseSpec,
)
from sandbox_agent.workspace.git import bodies
from sandbox_agent.workspace.git.diff import diff
from sandbox_agent.workspace.git.git_command import GitLimits
from sandbox_agent.workspace.git.log import log
from sandbox_agent.workspace.git.repository import Repository
from sandbox_agent.workspace.git.status import status

if TYPE_CHECKING:
    from sandbox_agent.http.services import Services

T = TypeVar("T", bound=msgspec.Struct)

_PATH = OptionalText(
    "path", "A directory of the repository; the home directory (or the root) when absent", "project"
)
_FILE = OptionalText("file", "Only this file or directory, relative to the root of the repository", "src")
_BASE = OptionalText("base", "The commit to compare with; HEAD when absent", "main")
_STAGED = Flag("staged", "Compare the index instead of the work tree", False)
_CONTEXT = BoundedInteger("context", "Unchanged lines around each change", 3, default=3, maximum=1000)
_REVISION = OptionalText("revision", "The newest commit; HEAD when absent", "main")
_LIMIT = BoundedInteger("limit", "Most commits", 50, default=50, minimum=1, maximum=1000)
_SKIP = BoundedInteger("skip", "Newest commits to leave out", 0, default=0, maximum=1_000_000)
_ERRORS = [errors.PermissionDenied, errors.NotFound, errors.StreamError, errors.Timeout]
_COMMIT = "3f2c1e0d9b8a7f6e5d4c3b2a1f0e9d8c7b6a5f4e"


@Operation(
    id="getGitStatus",
    tag="git",
    summary="Show the branch and the changed files",
    description="Untracked files are listed one by one. Submodules are compared by commit, not entered.",
    parameters=[_PATH],
    responses={
        200: ResponseSpec(
            "The state of the work tree",
            [
                Content(
                    bodies.GitStatus,
                    bodies.GitStatus(
                        root="/home/user/project",
                        branch=bodies.GitBranch(name="main", commit=_COMMIT),
                        entries=[bodies.GitEntry(path="a.txt", kind="changed", index=".", worktree="M")],
                        truncated=False,
                    ),
                )
            ],
        )
    },
    errors=_ERRORS,
)
async def show_status(request: Request, services: Services) -> Response:
    return json_response(await _in_repository(request, services, status))


@Operation(
    id="getGitDiff",
    tag="git",
    summary="Show what changed since a commit",
    description=(
        "Without `staged` the work tree is compared, untracked files included. Files that are not text or "
        "larger than 4 MiB have no patch."
    ),
    parameters=[_PATH, _FILE, _BASE, _STAGED, _CONTEXT],
    responses={
        200: ResponseSpec(
            "One entry per file",
            [
                Content(
                    bodies.GitDiff,
                    bodies.GitDiff(
                        root="/home/user/project",
                        base=_COMMIT,
                        files=[
                            bodies.GitFileDiff(
                                path="a.txt", status="modified", binary=False, added=1, removed=0
                            )
                        ],
                        truncated=False,
                    ),
                )
            ],
        )
    },
    errors=_ERRORS,
)
async def show_diff(request: Request, services: Services) -> Response:
    base, staged, file = _BASE.read(request) or "HEAD", _STAGED.read(request), _FILE.read(request)
    context = _CONTEXT.read(request)
    return json_response(
        await _in_repository(
            request,
            services,
            lambda repository: diff(repository, base=base, staged=staged, file=file, context=context),
        )
    )


@Operation(
    id="getGitLog",
    tag="git",
    summary="List commits, newest first",
    parameters=[_PATH, _FILE, _REVISION, _LIMIT, _SKIP],
    responses={
        200: ResponseSpec(
            "The commits",
            [Content(bodies.GitLog, bodies.GitLog(root="/home/user/project", commits=[], truncated=False))],
        )
    },
    errors=_ERRORS,
)
async def show_log(request: Request, services: Services) -> Response:
    revision, limit = _REVISION.read(request) or "HEAD", _LIMIT.read(request)
    skip, file = _SKIP.read(request), _FILE.read(request)
    return json_response(
        await _in_repository(
            request,
            services,
            lambda repository: log(repository, revision=revision, limit=limit, skip=skip, file=file),
        )
    )


async def _in_repository(request: Request, services: Services, read: Callable[[Repository], T]) -> T:
    """Call `read` in a thread with the repository that the request names."""
    services.require_enabled("git")
    settings = services.settings
    path = _PATH.read(request) or ""
    limits = GitLimits(settings.git_timeout_ms / 1000, settings.git_max_bytes)
    user = services.process_limits.popen_arguments()
    return await services.file_executor.run(
        services.workspace.absolute(path),
        lambda: read(Repository(services.workspace, path, limits, user)),
    )
