"""`client.git`, `client.fs.watch` and `client.system`, with a real server."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, NotFoundError
from tests.support.git_repository import git, new_repository


@pytest.mark.clause("changes-sdk")
async def test_what_an_agent_changed_can_be_read_and_applied_elsewhere(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    repository = await asyncio.to_thread(new_repository, tmp_path / "repo")
    (repository / "a.txt").write_text("one\ntwo\nthree\nfour\n")
    (repository / "new.txt").write_text("new\n")
    status = await client.git.status(repository)
    assert status.branch.name == "main"
    assert {entry.path: entry.kind for entry in status.entries} == {
        "a.txt": "changed",
        "new.txt": "untracked",
    }
    diff = await client.git.diff(repository)
    assert [(file.path, file.added, file.removed) for file in diff.files] == [
        ("a.txt", 1, 0),
        ("new.txt", 1, 0),
    ]
    git(tmp_path, "clone", "--quiet", str(repository), "copy")
    subprocess.run(["git", "apply", "-"], cwd=tmp_path / "copy", input=diff.patch.encode(), check=True)  # noqa: S607, ASYNC221
    assert (tmp_path / "copy/new.txt").read_text() == "new\n"
    (commit,) = await client.git.log(repository)
    assert (commit.subject, commit.id) == ("First", diff.base)
    with pytest.raises(NotFoundError):
        await client.git.status("/")


@pytest.mark.clause("changes-sdk")
async def test_changes_are_followed_until_the_directory_is_gone(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    watched = tmp_path / "watched"
    watched.mkdir()
    async with asyncio.timeout(20), client.fs.watch(str(watched)) as changes:
        (watched / "file").write_text("x")
        first = await anext(changes)
        assert [(one.kind, one.path) for one in first.changes] == [("created", str(watched / "file"))]
        (watched / "file").unlink()
        watched.rmdir()
        rest = [change async for batch in changes for change in batch.changes]
        assert [(one.kind, one.path) for one in rest] == [("deleted", str(watched / "file"))]


@pytest.mark.clause("changes-sdk")
async def test_a_file_that_the_server_writes_is_one_change(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    path = str(tmp_path / "note")
    async with asyncio.timeout(20), client.fs.watch(str(tmp_path)) as changes:
        seen = []
        for text in ("first", "second"):
            await client.fs.write_text(path, text)
            seen += [(one.kind, one.path) for one in (await anext(changes)).changes]
        await client.fs.delete(path)
        seen += [(one.kind, one.path) for one in (await anext(changes)).changes]
    assert seen == [("created", path), ("modified", path), ("deleted", path)]


@pytest.mark.clause("changes-sdk")
async def test_a_watch_ends_when_its_block_is_left(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    async with asyncio.timeout(20):
        async with client.fs.watch(tmp_path) as never_read:
            pass
        assert [change async for change in never_read] == []
        async with client.fs.watch(tmp_path) as changes:
            (tmp_path / "file").write_text("x")
            await anext(changes)
            waiting = asyncio.ensure_future(anext(changes, None))
            await asyncio.sleep(0)
        assert await waiting is None
        assert [change async for change in changes] == []


@pytest.mark.clause("changes-sdk")
async def test_the_system_is_shown_with_the_tree_of_each_instance(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create(agent="mock")
    system = await client.system()
    assert system.memory.total_bytes > system.memory.available_bytes > 0
    assert session.id and [tree.agent for tree in system.instances] == ["mock"]
    assert system.instances[0].memory_bytes > 1_000_000
    process = await client.processes.start(["sleep", "600"])
    (tree,) = (await client.system()).processes
    assert (tree.process_id, tree.command, tree.processes) == (process.id, "sleep", 1)
    await process.kill()
