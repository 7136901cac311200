"""The namespaces `agents`, `fs`, `config` and `acp`, with a real server."""

from __future__ import annotations

import io
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, AuthenticationError, ConflictError, NotFoundError
from sandbox_agent.sdk.resources.config import AsyncConfigEntries
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.transport.http_api import HttpApi
from tests.sdk.conftest import Connect

MIB = 1024 * 1024


@pytest.mark.clause("spec2-3-health-and-agents", "sdk-namespaces")
async def test_agents_are_listed_looked_up_and_installed(client: AsyncSandboxAgent) -> None:
    listed = await client.agents.list()
    assert {"claude", "codex", "opencode", "amp", "pi", "cursor", "mock"} <= {one.id for one in listed}
    mock = await client.agents.get("mock", config=True)
    assert mock.installed and mock.credentials_available and mock.capabilities["questions"]
    assert mock.version == "builtin" and {"mock", "mock-fast"} == {one["id"] for one in mock.models}
    result = await client.agents.install("mock")
    assert isinstance(result.already_installed, bool)


@pytest.mark.clause("spec2-3-files")
async def test_files_are_written_read_moved_and_deleted(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    root = str(tmp_path / "files")
    assert await client.fs.write(f"{root}/a/b.bin", b"\x00\xff" * 10) == 20
    assert await client.fs.read(f"{root}/a/b.bin") == b"\x00\xff" * 10
    await client.fs.write_text(f"{root}/t.txt", "grüße")
    assert await client.fs.read_text(f"{root}/t.txt") == "grüße"
    stat = await client.fs.stat(f"{root}/t.txt")
    assert (stat.name, stat.size, stat.is_dir) == ("t.txt", 7, False)
    assert {entry.name for entry in await client.fs.list(root)} == {"a", "t.txt"}
    assert await client.fs.move(f"{root}/t.txt", f"{root}/u.txt") == f"{root}/u.txt"
    assert await client.fs.exists(f"{root}/u.txt") and not await client.fs.exists(f"{root}/t.txt")
    assert await client.fs.mkdir(f"{root}/x/y") == f"{root}/x/y"
    await client.fs.delete(f"{root}/x", recursive=True)
    assert not await client.fs.exists(f"{root}/x")


@pytest.mark.clause("spec2-3-files")
async def test_big_files_travel_as_streams(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for number in range(64):
            yield bytes([number]) * (MIB // 4)

    target = str(tmp_path / "big.bin")
    assert await client.fs.write(target, pieces()) == 16 * MIB
    assert await client.fs.download(target, tmp_path / "copy.bin") == 16 * MIB
    assert await client.fs.upload(tmp_path / "copy.bin", target + "2") == 16 * MIB
    async with client.fs.stream(target, start=16 * MIB - 3) as chunks:
        assert b"".join([chunk async for chunk in chunks]) == b"???"
    assert await client.fs.write(str(tmp_path / "it"), iter([b"a", b"b"])) == 2


@pytest.mark.clause("spec2-3-files")
async def test_directories_travel_in_one_stream_both_ways(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep" / "er").mkdir(parents=True)
    (source / "deep" / "er" / "f.txt").write_text("deep")
    (source / "big").write_bytes(b"x" * (3 * MIB))
    (source / "skip.me").write_text("no")
    result = await client.fs.upload_dir(
        source, str(tmp_path / "up"), keep=lambda path: path.name != "skip.me"
    )
    assert str(tmp_path / "up" / "big") in result.paths and not result.truncated
    assert not (tmp_path / "up" / "skip.me").exists()
    await client.fs.download_dir(str(tmp_path / "up"), tmp_path / "down")
    assert (tmp_path / "down" / "deep" / "er" / "f.txt").read_text() == "deep"
    assert (tmp_path / "down" / "big").stat().st_size == 3 * MIB
    with pytest.raises(NotADirectoryError):
        await client.fs.upload_dir(source / "big", str(tmp_path / "no"))
    with pytest.raises(NotFoundError):
        await client.fs.download_dir(str(tmp_path / "missing"), tmp_path / "x")


async def test_a_server_without_the_tar_download_is_walked(
    client: AsyncSandboxAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = HttpApi.open
    monkeypatch.setattr(
        HttpApi,
        "open",
        lambda self, method, path, **rest: real(
            self, method, path.replace("/fs/download", "/fs/nothing"), **rest
        ),
    )
    (tmp_path / "tree" / "sub").mkdir(parents=True)
    (tmp_path / "tree" / "sub" / "f").write_text("walked")
    await client.fs.download_dir(str(tmp_path / "tree"), tmp_path / "walked")
    assert (tmp_path / "walked" / "sub" / "f").read_text() == "walked"


@pytest.mark.clause("spec2-3-files")
async def test_a_ready_tar_is_unpacked(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        info = tarfile.TarInfo("hello.txt")
        info.size = 2
        tar.addfile(info, io.BytesIO(b"hi"))
    await client.fs.upload_tar(buffer.getvalue(), str(tmp_path / "tar"))
    assert (tmp_path / "tar" / "hello.txt").read_text() == "hi"


@pytest.mark.clause("sdk-namespaces")
async def test_config_entries_are_kept_per_directory(client: AsyncSandboxAgent, tmp_path: Path) -> None:
    place = str(tmp_path)
    await client.config.mcp.set(place, "one", {"type": "stdio", "command": "c"})
    assert await client.config.mcp.get(place, "one") == {"type": "local", "command": "c", "args": []}
    assert set(await client.config.mcp.list(place)) == {"one"}
    await client.config.mcp.delete(place, "one")
    await client.config.mcp.delete(place, "one")
    with pytest.raises(NotFoundError):
        await client.config.mcp.get(place, "one")
    skill = {"sources": [{"type": "local", "source": "s"}]}
    await client.config.skills.set(place, "tidy", skill)
    assert await client.config.skills.list(place) == {"tidy": skill}
    (tmp_path / ".sandbox-agent" / "config" / "mcp.json").write_text("broken")
    with pytest.raises(ConflictError):
        await client.config.mcp.list(place)


@pytest.mark.clause("decision-26-client")
async def test_a_server_without_the_list_of_entries_is_read_from_the_file(
    client: AsyncSandboxAgent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries: AsyncConfigEntries = client.config.mcp
    await entries.set(str(tmp_path), "one", {"type": "local", "command": "c"})
    monkeypatch.setattr(entries, "_path", "/v1/config/no-such-list")
    assert set(await entries.list(str(tmp_path))) == {"one"}
    assert await entries.list(str(tmp_path / "empty")) == {}


@pytest.mark.clause("sdk-namespaces")
async def test_instances_are_listed_and_closed(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    listed = await client.acp.list()
    assert listed[0].server_id == session.info.server_id and listed[0].status == "running" and listed[0].pid
    assert await client.acp.get("nobody") is None
    await client.acp.close(listed[0].server_id)
    await client.acp.close("never seen")
    assert await client.acp.list() == []
    assert (await session.prompt("echo back again")).text == "back again"


@pytest.mark.clause("share-read-only", "share-revocable")
async def test_a_share_reads_an_instance_until_it_is_revoked(connect: Connect) -> None:
    client = await connect()
    session = await client.sessions.create("mock")
    server_id = session.info.server_id
    share = await client.acp.share(server_id, expires_s=60)
    assert share.ticket and share.url and share.url.endswith(f"/ui/shared/{server_id}#ticket={share.ticket}")
    assert share.ticket not in repr(share)
    reader = HttpApi(client.base_url, token=share.ticket)
    try:
        status = await reader.request("GET", "/v1/acp", query={"serverId": server_id})
        assert status.json()["servers"][0]["agent"] == "mock"
        with pytest.raises(AuthenticationError):
            await reader.request("DELETE", f"/v1/acp/{server_id}")
        assert [(one.id, one.ticket) for one in await client.acp.shares(server_id)] == [(share.id, None)]
        await client.acp.revoke(share)
        await client.acp.revoke(share)
        with pytest.raises(AuthenticationError):
            await reader.request("GET", "/v1/acp", query={"serverId": server_id})
    finally:
        await reader.aclose()


async def test_an_open_session_is_resumed_as_it_is(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", id="open")
    await session.prompt("echo open")
    assert (await client.sessions.get("open")).agent == "mock"
    assert (await client.sessions.events("open"))[0].type == "session.started"
    assert await client.sessions.resume("open") is session
    await client.sessions.terminate("open")


def test_files_need_only_an_api() -> None:
    assert AsyncFiles(HttpApi("http://x.invalid"))
