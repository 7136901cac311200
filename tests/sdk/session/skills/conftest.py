"""Skill folders, Git repositories with skills, and a web server for them."""

from __future__ import annotations

import functools
import http.server
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest


def write_skill(folder: Path, name: str, text: str = "Do it well.") -> Path:
    """A skill folder below `folder`."""
    skill = folder / name
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How to {name}\n---\n{text}\n")
    script = skill / "scripts" / "run.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    return skill


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=Test", "-c", "user.email=test@example.invalid"]
    run = subprocess.run(
        ["git", *identity, *arguments],  # noqa: S607 - any git
        cwd=directory,
        check=True,
        capture_output=True,
        text=True,
    )
    return run.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Git repository to work in."""
    directory = tmp_path / "project"
    directory.mkdir()
    git(directory, "init", "--quiet")
    (directory / "README.md").write_text("a project\n")
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "-m", "first")
    return directory


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the skills `review` and `lint`; the tag `old` has another text."""
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "--quiet", "--initial-branch", "main")
    write_skill(directory / "skills", "review", "The old way.")
    write_skill(directory / "skills", "lint")
    git(directory, "add", ".")
    git(directory, "commit", "--quiet", "-m", "first")
    git(directory, "tag", "old")
    text = (directory / "skills/review/SKILL.md").read_text()
    (directory / "skills/review/SKILL.md").write_text(text.replace("old", "new"))
    git(directory, "commit", "--quiet", "-am", "second")
    return directory


@pytest.fixture
def web_repository(repository: Path) -> Iterator[str]:
    """The same repository behind HTTP, as plain files."""
    git(repository, "update-server-info")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

    handler = functools.partial(Quiet, directory=str(repository))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/.git"
        server.shutdown()
        thread.join()
