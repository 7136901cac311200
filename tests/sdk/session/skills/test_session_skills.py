"""Skills of a session: where the agent finds them, what they leave alone, and when they go."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent, SkillSourceError, SqliteStore
from tests.sdk.conftest import Connect
from tests.sdk.live_server import LiveServer
from tests.sdk.session.skills.conftest import AGENT_FOLDER, seen_by, write_skill
from tests.support.git_repository import git
from tests.support.polling import eventually


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def local(path: Path, **fields: Any) -> dict[str, Any]:
    return {"sources": [{"type": "local", "source": str(path), **fields}]}


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_a_skill_is_there_for_the_session_and_gone_afterwards(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path
) -> None:
    write_skill(tmp_path / "source", "review")
    session = await client.sessions.create("mock", directory=str(project), skills=local(tmp_path / "source"))
    assert await seen_by(session) == ["review"]
    installed = project / AGENT_FOLDER / "review"
    assert (installed / "SKILL.md").read_text() == (tmp_path / "source/review/SKILL.md").read_text()
    assert (installed / "scripts/run.sh").stat().st_mode & 0o111
    assert git(project, "status", "--porcelain") == ""
    await session.terminate()
    assert names(project) == [".git", "README.md"]
    assert "sandbox-agent" not in (project / ".git/info/exclude").read_text()


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_the_skills_of_the_directory_config_are_used(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path
) -> None:
    write_skill(project / "tools" / "skills", "review")
    write_skill(project / "tools" / "skills", "lint")
    entry = {"sources": [{"type": "local", "source": "tools", "skills": ["lint"]}]}
    await client.config.skills.set(str(project), "ours", entry)
    without = await client.sessions.create("mock", directory=str(project))
    assert await seen_by(without) == []
    session = await client.sessions.create("mock", directory=str(project), use_directory_config=True)
    assert await seen_by(session) == ["lint"]
    await session.terminate()
    assert await seen_by(without) == []
    assert json.loads((project / ".sandbox-agent/config/skills.json").read_text()) == {"ours": entry}


@pytest.mark.clause("skills-never-overwrite")
async def test_a_skill_of_the_user_is_never_touched(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path
) -> None:
    own = write_skill(project / AGENT_FOLDER, "review", "The user's own text.")
    before = (own / "SKILL.md").read_text()
    write_skill(tmp_path / "source", "review")
    write_skill(tmp_path / "source", "lint")
    session = await client.sessions.create("mock", directory=str(project), skills=local(tmp_path / "source"))
    assert await seen_by(session) == ["lint", "review"]
    assert list(session.restored.not_applied) == ["skills.review"]
    assert str(own) in session.restored.not_applied["skills.review"]
    assert (own / "SKILL.md").read_text() == before
    await session.terminate()
    assert names(project / AGENT_FOLDER) == ["review"]
    assert (own / "SKILL.md").read_text() == before


@pytest.mark.clause("skills-never-overwrite")
async def test_a_skill_that_was_changed_stays(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path
) -> None:
    write_skill(tmp_path / "source", "review")
    write_skill(tmp_path / "source", "lint")
    session = await client.sessions.create("mock", directory=str(project), skills=local(tmp_path / "source"))
    (project / AGENT_FOLDER / "review/SKILL.md").write_text("Improved by the agent.\n")
    (project / AGENT_FOLDER / "lint/__pycache__").mkdir()
    (project / AGENT_FOLDER / "lint/__pycache__/x.pyc").touch()
    await session.terminate()
    assert names(project / AGENT_FOLDER) == ["review"]
    assert (project / AGENT_FOLDER / "review/SKILL.md").read_text() == "Improved by the agent.\n"


@pytest.mark.clause("skills-reference-counts")
async def test_two_sessions_in_one_directory_share_a_skill(
    own_server: LiveServer, connect: Connect, project: Path, tmp_path: Path
) -> None:
    source = write_skill(tmp_path / "source", "review")
    one, two = await connect(), await connect()
    first, second = await asyncio.gather(
        *(
            client.sessions.create("mock", directory=str(project), skills=local(source))
            for client in (one, two)
        )
    )
    assert await seen_by(first) == await seen_by(second) == ["review"]
    write_skill(tmp_path / "other", "review", "Another text.")
    third = await one.sessions.create("mock", directory=str(project), skills=local(tmp_path / "other"))
    assert "another session" in third.restored.not_applied["skills.review"]
    await first.terminate()
    assert await seen_by(second) == ["review"]
    await two.aclose()
    assert await seen_by(third) == []
    assert not (project / ".sandbox-agent").exists() and not (project / ".agents").exists()


@pytest.mark.clause("skills-reference-counts")
async def test_many_sessions_come_and_go_at_once(
    own_server: LiveServer, connect: Connect, project: Path, tmp_path: Path
) -> None:
    source = write_skill(tmp_path / "source", "review")
    clients = [await connect() for _ in range(3)]

    async def come_and_go(client: AsyncSandboxAgent) -> None:
        for _ in range(2):
            session = await client.sessions.create("mock", directory=str(project), skills=local(source))
            assert await seen_by(session) == ["review"]
            await session.terminate()

    await asyncio.gather(*(come_and_go(client) for client in clients))
    assert names(project) == [".git", "README.md"]


@pytest.mark.clause("skills-left-overs")
async def test_the_next_start_removes_what_a_crash_has_left(
    own_server: LiveServer, connect: Connect, project: Path, tmp_path: Path
) -> None:
    source = write_skill(tmp_path / "source", "review")
    crashed = await connect()
    await crashed.sessions.create("mock", directory=str(project), skills=local(source))
    agent = (await crashed.acp.list())[0].pid
    await own_server.kill()
    await eventually(lambda: not Path(f"/proc/{agent}").exists())
    await crashed.aclose()
    assert (project / AGENT_FOLDER / "review").is_dir()
    await own_server.start()
    after = await connect()
    session = await after.sessions.create("mock", directory=str(project))
    assert await seen_by(session) == []
    assert names(project) == [".git", "README.md"]
    assert "sandbox-agent" not in (project / ".git/info/exclude").read_text()


@pytest.mark.clause("skills-never-overwrite")
@pytest.mark.parametrize("path", ["../victim", "/etc", ".", "a/../../victim"])
async def test_a_forged_manifest_removes_nothing_outside(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path, path: str
) -> None:
    (tmp_path / "victim").mkdir()
    forged = {
        "version": 1,
        "sessions": {},
        "skills": {path: {"files": {}, "sessions": []}},
        "created": [path],
    }
    (project / ".sandbox-agent/skills").mkdir(parents=True)
    (project / ".sandbox-agent/skills/manifest.json").write_text(json.dumps(forged))
    await client.sessions.create("mock", directory=str(project))
    source = write_skill(tmp_path / "source", "review")
    with pytest.raises(SkillSourceError, match="is not a manifest"):
        await client.sessions.create("mock", directory=str(project), skills=local(source))
    assert (tmp_path / "victim").is_dir() and (project / "README.md").is_file()


@pytest.mark.clause("skills-left-overs")
async def test_a_lock_that_a_crash_has_left_is_replaced(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sandbox_agent.sdk.session.skills.directory_lock.STALE_S", 0.3)
    (project / ".sandbox-agent/skills").mkdir(parents=True)
    (project / ".sandbox-agent/skills/lock").write_text("a client that died")
    source = write_skill(tmp_path / "source", "review")
    session = await client.sessions.create("mock", directory=str(project), skills=local(source))
    assert await seen_by(session) == ["review"]
    await session.terminate()
    assert not (project / ".sandbox-agent/skills").exists()


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_a_restored_session_has_its_skills_again(
    own_server: LiveServer, connect: Connect, project: Path, tmp_path: Path
) -> None:
    store = SqliteStore(tmp_path / "sessions.db")
    source = write_skill(tmp_path / "source", "review")
    client = await connect(store=store)
    session = await client.sessions.create("mock", id="s", directory=str(project), skills=local(source))
    await client.aclose()
    assert not (project / ".agents").exists()
    client = await connect(store=store)
    session = await client.sessions.resume("s")
    assert session.restored.method != "reattached" and await seen_by(session) == ["review"]
    await client.aclose(keep_running=True)
    assert (project / AGENT_FOLDER / "review").is_dir()
    client = await connect(store=store)
    await client.sessions.terminate("s")
    assert not (project / ".agents").exists()
    await client.aclose()
    await store.close()


@pytest.mark.clause("spec1-5.4-skills-reach-agents")
async def test_a_worktree_and_a_folder_of_a_repository_stay_clean(
    client: AsyncSandboxAgent, project: Path, tmp_path: Path
) -> None:
    git(project, "worktree", "add", "--quiet", str(tmp_path / "tree"))
    inner = tmp_path / "tree" / "inner part"
    inner.mkdir()
    source = write_skill(tmp_path / "source", "re view")
    for directory in (tmp_path / "tree", inner):
        session = await client.sessions.create("mock", directory=str(directory), skills=local(source))
        assert await seen_by(session) == ["re view"]
        assert git(directory, "status", "--porcelain") == ""
        await session.terminate()
    assert "sandbox-agent" not in (project / ".git/info/exclude").read_text()


@pytest.mark.parametrize(
    ("skills", "said"),
    [
        ({"sources": [{"type": "local"}]}, "required"),
        ({"sources": [{"type": "zip", "source": "x"}]}, "zip"),
        ({"sources": [{"type": "local", "source": "/nowhere"}]}, "/nowhere"),
        ({"sources": [{"type": "local", "source": ".", "subpath": "../x"}]}, "subpath"),
        ({"sources": [{"type": "git", "source": "--upload-pack=x"}]}, "hyphen"),
        ({"sources": [{"type": "github", "source": "no repository"}]}, "owner/repository"),
    ],
)
async def test_a_source_that_cannot_be_used_is_an_error(
    client: AsyncSandboxAgent, project: Path, skills: Any, said: str
) -> None:
    with pytest.raises(SkillSourceError, match=said):
        await client.sessions.create("mock", directory=str(project), skills=skills)
    assert names(project) == [".git", "README.md"]
    assert await client.acp.list() == []


async def test_skills_in_another_form_are_an_error(client: AsyncSandboxAgent, project: Path) -> None:
    with pytest.raises(TypeError, match="skills"):
        await client.sessions.create("mock", directory=str(project), skills=["review"])  # type: ignore[arg-type]
    assert await client.acp.list() == []
