"""The repository that contains a directory, found as git finds it, and kept inside the file root."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from sandbox_agent.errors import InvalidRequest, NotFound, PermissionDenied
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.git.boundary import refuse_outside, refuse_ways_out
from sandbox_agent.workspace.git.git_command import GitCommand, GitFailed, GitLimits, refuse_option
from sandbox_agent.workspace.paths.os_errors import map_os_errors

EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Repository:
    """Commands on the work tree of one repository. Blocks: use it in a thread."""

    def __init__(self, workspace: Workspace, path: str, limits: GitLimits, user: Mapping[str, Any]) -> None:
        """Raises NotFound if there is no repository at `path`, or SandboxAgentError for the path itself."""
        self.limits = limits
        self.workspace = workspace
        directory = _existing_directory(workspace, path)
        ceiling = os.path.dirname(workspace.root.path) if workspace.bounded else ""
        self._git = GitCommand(directory, limits, user, ceiling)
        try:
            found = self._git.run("rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir")
        except GitFailed as error:
            raise NotFound(
                f"not found: no git work tree at {path or directory}",
                {"details": {"resource": "git repository", "id": path, "message": str(error)}},
            ) from None
        lines = found.data.decode("utf-8", "surrogateescape").splitlines()
        self.root = lines[0]
        if workspace.bounded:
            refuse_outside(workspace, self.root)
            refuse_ways_out(workspace, lines[1], os.path.join(directory, lines[2]))
        self._git.stay_in(lines[1], self.root)
        if workspace.bounded:
            for name in self._git.configuration_files():
                refuse_outside(workspace, name)

    def run(self, *arguments: str) -> tuple[bytes, bool]:
        """The output of git and whether it is cut. Raises InvalidRequest with what git wrote to stderr."""
        try:
            output = self._git.run(*arguments)
        except GitFailed as error:
            raise InvalidRequest(f"git: {error}") from None
        return output.data, output.is_truncated

    def refuse_submodule_outside(self, path: str) -> None:
        """Raises PermissionDenied if the repository of a submodule leads out of the file root."""
        if self.workspace.bounded:
            if "\ufffd" in path:
                raise PermissionDenied(path, "the name of the submodule is not UTF-8")
            refuse_ways_out(self.workspace, os.path.join(self.root, path, ".git"))

    def commit(self, revision: str) -> str | None:
        """The id of a commit; None for HEAD before the first commit. Raises InvalidRequest."""
        name = refuse_option(revision, "base")
        try:
            found = self._git.run("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except GitFailed:
            if name == "HEAD":
                return None
            raise InvalidRequest(f"no commit has the name '{revision}'") from None
        return found.data.decode().strip()


def _existing_directory(workspace: Workspace, path: str) -> str:
    absolute = workspace.absolute(path)
    with workspace.resolve(absolute, follow=True) as resolved, map_os_errors(absolute):
        found = os.open(resolved.name, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=resolved.parent)
        try:
            return os.readlink(f"/proc/self/fd/{found}")
        finally:
            os.close(found)
