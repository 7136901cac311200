"""Repositories that tests build with real git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path


def git(directory: Path, *arguments: str) -> str:
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    done = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", *arguments],  # noqa: S607
        cwd=directory,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=30,
    )
    return done.stdout.strip()


def commit_files(directory: Path, files: Mapping[str, str]) -> Path:
    """A new repository with one commit, of these files."""
    directory.mkdir(parents=True)
    git(directory, "init", "--quiet")
    for name, text in files.items():
        (directory / name).write_text(text)
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "first")
    return directory


def new_repository(directory: Path) -> Path:
    """One commit with a.txt, a program, a picture and a link."""
    directory.mkdir(parents=True, exist_ok=True)
    git(directory, "init", "--quiet")
    (directory / "a.txt").write_text("one\ntwo\nthree\n")
    (directory / "long.txt").write_text("".join(f"line {number}\n" for number in range(50)))
    (directory / "picture.png").write_bytes(b"\x89PNG\0\1\2")
    (directory / "link").symlink_to("a.txt")
    git(directory, "add", "--all")
    git(directory, "commit", "--quiet", "--message", "First\n\nWith a body.")
    return directory
