"""Sources of skills: repositories at a version, parts of them, and what a source may not do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, SkillSourceError
from tests.sdk.session.skills.conftest import AGENT_FOLDER, seen_by, write_skill
from tests.support.git_repository import git


def git_source(repository: object, **fields: Any) -> dict[str, Any]:
    return {"sources": [{"type": "git", "source": str(repository), **fields}]}


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
@pytest.mark.parametrize("by", ["HEAD", "tag", "branch", "commit"])
async def test_a_repository_is_fetched_at_its_ref(
    client: AsyncSandboxAgent, project: Path, repository: Path, by: str
) -> None:
    commit = git(repository, "rev-parse", "--short", "old").strip()
    ref = {"HEAD": None, "tag": "old", "branch": "main", "commit": commit}[by]
    session = await client.sessions.create(
        "mock", directory=str(project), skills=git_source(repository, ref=ref)
    )
    assert await seen_by(session) == ["lint", "review"]
    text = (project / AGENT_FOLDER / "review/SKILL.md").read_text()
    assert ("The old way." if by in ("tag", "commit") else "The new way.") in text


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_a_part_of_a_repository_is_one_skill(
    client: AsyncSandboxAgent, project: Path, repository: Path
) -> None:
    skills = git_source(repository, subpath="skills/review")
    session = await client.sessions.create("mock", directory=str(project), skills=skills)
    assert await seen_by(session) == ["review"]
    with pytest.raises(SkillSourceError, match="missing; found: lint, review"):
        await client.sessions.create(
            "mock", directory=str(project), skills=git_source(repository, skills=["lint", "missing"])
        )


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_a_github_source_is_its_repository(
    client: AsyncSandboxAgent, project: Path, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", f"url.file://{repository.parent}/.insteadOf")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/owner/")
    skills = {"sources": [{"type": "github", "source": "owner/repository", "skills": ["lint"]}]}
    session = await client.sessions.create("mock", directory=str(project), skills=skills)
    assert await seen_by(session) == ["lint"]


@pytest.mark.clause("skills-directory-sources")
async def test_the_directory_config_may_name_a_web_address_only(
    client: AsyncSandboxAgent, project: Path, repository: Path, web_repository: str
) -> None:
    """An agent can write this file; it must not make the client read its own disk or run programs."""
    where = str(project)
    for source in (
        str(repository),
        f"file://{repository}",
        "ext::sh -c touch% /nowhere",
        "ssh://127.0.0.1:1/x",
    ):
        await client.config.skills.set(where, "them", git_source(source))
        with pytest.raises(SkillSourceError, match="not allowed"):
            await client.sessions.create("mock", directory=where, use_directory_config=True)
    await client.config.skills.set(where, "them", git_source(web_repository, ref="old"))
    session = await client.sessions.create("mock", directory=where, use_directory_config=True)
    assert await seen_by(session) == ["lint", "review"]
    assert "The old way." in (project / AGENT_FOLDER / "review/SKILL.md").read_text()


@pytest.mark.clause("skills-directory-sources")
async def test_the_directory_config_does_not_use_the_passwords_of_the_client(
    client: AsyncSandboxAgent, project: Path, private_repository: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = project.parent / "home of the client"
    home.mkdir()
    (home / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("HOME", str(home))
    entry = git_source(private_repository)
    session = await client.sessions.create("mock", directory=str(project), skills=entry)
    assert await seen_by(session) == ["lint", "review"]
    await client.config.skills.set(str(project), "them", entry)
    with pytest.raises(SkillSourceError, match=private_repository):
        await client.sessions.create("mock", directory=str(project), use_directory_config=True)


@pytest.mark.clause("skills-directory-sources")
async def test_a_link_in_a_repository_does_not_reach_files_of_the_client(
    client: AsyncSandboxAgent, project: Path, repository: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("a secret of the client")
    (repository / "skills/review/notes.md").symlink_to(tmp_path / "secret")
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "link")
    with pytest.raises(SkillSourceError, match="leads out"):
        await client.sessions.create("mock", directory=str(project), skills=git_source(repository))
    assert not (project / ".agents").exists()


async def test_a_source_may_be_the_place_where_the_agent_looks(
    client: AsyncSandboxAgent, project: Path
) -> None:
    own = write_skill(project / AGENT_FOLDER, "review")
    skills = {"sources": [{"type": "local", "source": AGENT_FOLDER}]}
    session = await client.sessions.create("mock", directory=str(project), skills=skills)
    assert await seen_by(session) == ["review"] and not session.restored.not_applied
    await session.terminate()
    assert (own / "SKILL.md").is_file() and not (project / ".sandbox-agent").exists()
