"""Installed skills in `.git/info/exclude`, so that they do not show up as changes of the repository."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import dirname, isabs, join, normpath, relpath

from sandbox_agent.sdk.errors import BadRequestError, NotFoundError, PermissionDeniedError
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.skills.conditional_file import read_version, write_over
from sandbox_agent.sdk.transport.http_api import HttpApi

_TRIES = 10
_NOT_THERE = (NotFoundError, PermissionDeniedError, BadRequestError)


async def exclude(api: HttpApi, directory: str, paths: Iterable[str]) -> None:
    """List exactly these paths of `directory`; without paths the list is removed.

    Does nothing if the directory is in no repository.
    """
    found = await _find_repository(AsyncFiles(api), directory)
    if found is None:
        return
    top, git = found
    inside = relpath(directory, top)
    patterns = [_pattern(join(inside, path)) for path in paths]
    file = join(git, "info/exclude")
    for _ in range(_TRIES):
        known = await read_version(api, file)
        wanted = _with_block(known.content, inside, patterns)
        if wanted == known.content or await write_over(api, file, known, wanted):
            return


async def _find_repository(files: AsyncFiles, directory: str) -> tuple[str, str] | None:
    """The top directory of the repository around `directory`, and its Git directory."""
    top = directory
    while True:
        try:
            entry = await files.stat(join(top, ".git"))
            return top, entry.path if entry.is_dir else await _linked_git_directory(files, top)
        except _NOT_THERE:
            if top == dirname(top):
                return None
            top = dirname(top)


async def _linked_git_directory(files: AsyncFiles, top: str) -> str:
    """The common Git directory of a worktree, whose `.git` is a file."""
    text = (await files.read_text(join(top, ".git"))).strip()
    git = normpath(join(top, text.removeprefix("gitdir:").strip()))
    try:
        common = (await files.read_text(join(git, "commondir"))).strip()
    except _NOT_THERE:
        return git
    return common if isabs(common) else normpath(join(git, common))


def _with_block(content: bytes, inside: str, patterns: list[str]) -> bytes:
    begin, end = (f"# sandbox-agent: skills in {inside}, {edge}" for edge in ("begin", "end"))
    block = re.compile(rb"^%s\n.*?^%s\n" % (re.escape(begin.encode()), re.escape(end.encode())), re.M | re.S)
    rest = block.sub(b"", content)
    if not patterns:
        return rest
    if rest and not rest.endswith(b"\n"):
        rest += b"\n"
    return rest + "\n".join([begin, *patterns, end, ""]).encode()


def _pattern(path: str) -> str:
    """A pattern that matches this directory of the repository and nothing else."""
    return "/" + re.sub(r"([\\*?\[\]#! ])", r"\\\1", normpath(path)) + "/"
