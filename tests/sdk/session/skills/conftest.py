"""Skill folders, Git repositories with skills, and a web server for them."""

from __future__ import annotations

import base64
import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.git_repository import commit_files, git

AGENT_FOLDER = ".agents/skills"


def write_skill(folder: Path, name: str, text: str = "Do it well.") -> Path:
    """A skill folder below `folder`."""
    skill = folder / name
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: How to {name}\n---\n{text}\n")
    script = skill / "scripts" / "run.sh"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    return skill


async def seen_by(session: Any) -> list[str]:
    """The skills that the mock agent finds in the directory of its session."""
    return list(json.loads((await session.prompt("info")).text)["skills"])


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A Git repository to work in."""
    return commit_files(tmp_path / "project", {"README.md": "a project\n"})


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the skills `review` and `lint`; the tag `old` has another text."""
    directory = tmp_path / "repository"
    directory.mkdir()
    git(directory, "init", "--quiet")
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
    yield from serve(repository)


@pytest.fixture
def private_repository(repository: Path) -> Iterator[str]:
    """The same, for the user `me` only."""
    yield from serve(repository, "Basic " + base64.b64encode(b"me:secret").decode())


def serve(repository: Path, password: str | None = None) -> Iterator[str]:
    git(repository, "update-server-info")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            return

        def do_GET(self) -> None:
            if password is None or self.headers.get("authorization") == password:
                super().do_GET()
                return
            self.send_response(401)
            self.send_header("www-authenticate", "Basic")
            self.send_header("content-length", "0")
            self.end_headers()

    handler = functools.partial(Quiet, directory=str(repository))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/.git"
        server.shutdown()
        thread.join()
