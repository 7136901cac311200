"""The commits of a repository, newest first."""

from __future__ import annotations

from sandbox_agent.workspace.files.workspace import displayed
from sandbox_agent.workspace.git.bodies import GitCommit, GitLog
from sandbox_agent.workspace.git.git_command import refuse_option
from sandbox_agent.workspace.git.repository import Repository

_FIELDS = ("%H", "%P", "%an", "%ae", "%aI", "%s", "%b")


def log(repository: Repository, *, revision: str, limit: int, skip: int, file: str | None) -> GitLog:
    """At most `limit` commits that lead to `revision`, of one file if it is given."""
    root = displayed(repository.root)
    if repository.commit(refuse_option(revision, "revision")) is None:
        return GitLog(root=root, commits=[], truncated=False)
    output, truncated = repository.run(
        "-C",
        repository.root,
        "log",
        "--no-show-signature",
        "--no-notes",
        "--no-color",
        f"--max-count={limit}",
        f"--skip={skip}",
        "--format=" + "%x00".join(_FIELDS) + "%x00",
        revision,
        "--",
        *((file,) if file is not None else ()),
    )
    fields = output.decode("utf-8", "replace").split("\0")[:-1]
    whole = len(fields) - len(fields) % len(_FIELDS)
    commits = [_commit(fields[start : start + len(_FIELDS)]) for start in range(0, whole, len(_FIELDS))]
    return GitLog(root=root, commits=commits, truncated=truncated)


def _commit(fields: list[str]) -> GitCommit:
    identity, parents, name, email, date, subject, body = fields
    return GitCommit(
        id=identity.lstrip("\n"),  # Git ends each commit with a newline.
        parents=parents.split(),
        author_name=name,
        author_email=email,
        authored_at=date,
        subject=subject,
        body=body.rstrip("\n"),
    )
