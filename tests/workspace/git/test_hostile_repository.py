"""A repository whose configuration names programs: none of them is run."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from sandbox_agent.errors import SandboxAgentError, StreamError, Timeout
from sandbox_agent.workspace.files.workspace import Workspace
from sandbox_agent.workspace.git.diff import diff
from sandbox_agent.workspace.git.git_command import GitLimits
from sandbox_agent.workspace.git.log import log
from sandbox_agent.workspace.git.repository import Repository
from sandbox_agent.workspace.git.status import status
from tests.support.git_repository import git, new_repository

pytestmark = pytest.mark.process


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that leaves a file when it is run."""
    program = tmp_path / "trap"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung-$$\ncat\n")
    program.chmod(0o755)
    return program


def read_everything(workspace: Workspace, path: Path) -> None:
    for read in (
        status,
        lambda repository: diff(repository, base="HEAD", staged=False, file=None, context=3),
        lambda repository: diff(repository, base="HEAD", staged=True, file=None, context=3),
        lambda repository: log(repository, revision="HEAD", limit=10, skip=0, file=None),
    ):
        try:
            read(Repository(workspace, str(path), GitLimits(), {}))
        except SandboxAgentError:
            continue  # A repository that cannot be read is an error for its reader only.


def sprung(trap: Path) -> list[str]:
    return [entry for entry in os.listdir(trap.parent) if entry.startswith("sprung")]


@pytest.mark.clause("changes-git-hostile")
@pytest.mark.parametrize(
    "name",
    [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "diff.external",
        "diff.trap.command",
        "diff.trap.textconv",
        "filter.trap.clean",
        "filter.trap.smudge",
        "filter.trap.process",
        "filter.a=b.clean",
        "gpg.program",
        "credential.helper",
    ],
)
def test_no_program_of_the_configuration_is_run(
    workspace: Workspace, home: Path, trap: Path, name: str
) -> None:
    repository = new_repository(home / "repo")
    section, _, key = name.rpartition(".")
    with (repository / ".git/config").open("a") as config:
        outer, _, inner = section.partition(".")
        header = f'[{outer} "{inner}"]' if inner else f"[{outer}]"
        config.write(f"{header}\n\t{key} = {trap}\n[log]\n\tshowSignature = true\n[include]\n\tpath = more\n")
    (repository / ".git/more").write_text(f'[filter "included"]\n\tclean = {trap}\n\trequired = true\n')
    (repository / ".gitattributes").write_text(
        "*.txt diff=trap filter=trap\n*.png filter=a=b\nlong* filter=included\n"
    )
    (repository / "a.txt").write_text("changed\n")
    (repository / "long.txt").write_text("changed\n")
    (repository / "picture.png").write_bytes(b"\0changed")
    read_everything(workspace, repository)
    assert sprung(trap) == []


@pytest.mark.clause("changes-git-hostile")
def test_no_hook_and_no_program_of_a_submodule_is_run(workspace: Workspace, home: Path, trap: Path) -> None:
    inner, repository = new_repository(home / "inner"), new_repository(home / "repo")
    git(repository, "submodule", "--quiet", "add", str(inner), "sub")
    git(repository, "commit", "--quiet", "--message", "Submodule")
    git(repository / "sub", "config", "core.fsmonitor", str(trap))
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        (repository / ".git/hooks" / hook).unlink(missing_ok=True)
        (repository / ".git/hooks" / hook).symlink_to(trap)
    os.utime(repository / "a.txt", (1, 1))  # The index would be refreshed and written.
    index = (repository / ".git/index").read_bytes()
    read_everything(workspace, repository)
    assert sprung(trap) == []
    assert (repository / ".git/index").read_bytes() == index


@pytest.mark.clause("changes-git-hostile")
def test_missing_objects_are_not_fetched(workspace: Workspace, home: Path, trap: Path) -> None:
    repository = new_repository(home / "repo")
    blob = git(repository, "rev-parse", "HEAD:a.txt")
    git(repository, "config", "core.repositoryFormatVersion", "1")
    git(repository, "config", "extensions.partialClone", "origin")
    git(repository, "config", "remote.origin.url", "ssh://example.invalid/x")
    git(repository, "config", "remote.origin.promisor", "true")
    git(repository, "config", "protocol.ssh.allow", "always")
    git(repository, "config", "core.sshCommand", str(trap))
    (repository / ".git/objects" / blob[:2] / blob[2:]).unlink()
    (repository / "a.txt").write_text("changed\n")
    read_everything(workspace, repository)
    assert sprung(trap) == []


@pytest.mark.clause("changes-git-limits")
def test_a_command_that_takes_too_long_is_ended(
    workspace: Workspace, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = new_repository(home / "repo")
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\nsleep 600 &\necho $! >&2\nsleep 600\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    start = time.monotonic()
    with pytest.raises(Timeout):
        Repository(workspace, str(repository), GitLimits(timeout_s=0.3), {})
    assert time.monotonic() - start < 20


def test_a_machine_without_git_is_told(
    workspace: Workspace, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository = new_repository(home / "repo")
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(StreamError, match="git is not installed"):
        Repository(workspace, str(repository), GitLimits(), {})
