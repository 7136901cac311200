"""`sandbox-agent skills`: the configured skills of a directory, for clients without the SDK."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_agent import SandboxAgent, asgi

SKILL = "---\nname: notes\ndescription: How notes are written\n---\nOne line each.\n"


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    folder = tmp_path / "tools" / "skills" / "notes"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    configure(tmp_path, "tools")
    return tmp_path


def configure(directory: Path, source: str) -> None:
    config = directory / ".sandbox-agent" / "config" / "skills.json"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(json.dumps({"ours": {"sources": [{"type": "local", "source": source}]}}))


def skills(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "sandbox_agent", "skills", *arguments, "-d", str(directory)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def install(directory: Path, session: str) -> subprocess.CompletedProcess[str]:
    into = ("--into", ".agents/skills")
    return skills(directory, "install", "--session", session, *into, "--pid", str(os.getpid()))


@pytest.mark.clause("spec1-5.4-skills-reach-agents", "skills-reference-counts")
def test_skills_stay_until_the_last_session_has_removed_them(directory: Path) -> None:
    installed = directory / ".agents" / "skills" / "notes" / "SKILL.md"
    for session in ("one", "two"):
        done = install(directory, session)
        assert (done.returncode, json.loads(done.stdout)) == (0, {}), done.stderr
    with SandboxAgent.start(asgi()) as client:
        session = client.sessions.create("mock", directory=directory, use_directory_config=True)
        assert skills(directory, "remove", "--session", "one").returncode == 0
        assert skills(directory, "remove", "--session", "two").returncode == 0
        assert installed.read_text() == SKILL
        session.terminate()
    assert not (directory / ".agents").exists()


@pytest.mark.clause("skills-never-overwrite")
def test_a_skill_of_the_user_is_named_and_stays(directory: Path) -> None:
    own = directory / ".agents" / "skills" / "notes" / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_text("mine")
    assert list(json.loads(install(directory, "one").stdout)) == ["notes"]
    skills(directory, "remove", "--session", "one")
    assert own.read_text() == "mine"


def test_a_missing_source_is_a_line_on_stderr(directory: Path) -> None:
    configure(directory, "missing")
    failed = install(directory, "one")
    assert failed.returncode == 1 and failed.stderr.count("\n") == 1 and "missing" in failed.stderr
