"""The config endpoints over the wire."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server_process import ServerProcess

from .file_server import problem, running

LOCAL = {"type": "local", "command": "npx"}


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[ServerProcess, httpx.Client]]:
    with running(tmp_path_factory.mktemp("config")) as pair:
        yield pair


@pytest.fixture
def api(live: tuple[ServerProcess, httpx.Client]) -> httpx.Client:
    return live[1]


@pytest.mark.clause("spec1-5.3-mcp-config")
def test_mcp_entry_from_put_to_delete(api: httpx.Client, tmp_path: Path) -> None:
    params = {"directory": str(tmp_path), "mcpName": "a/b é"}
    missing = problem(api.get("/v1/config/mcp", params=params), 404, "not_found")
    assert missing["details"] == {"resource": "mcp", "id": "a/b é"}
    assert api.delete("/v1/config/mcp", params=params).status_code == 204
    assert os.listdir(tmp_path) == []
    stored = api.put("/v1/config/mcp", params=params, json={"type": "stdio", "command": "x", "timeout": 5})
    assert (stored.status_code, stored.content) == (204, b"")
    assert api.get("/v1/config/mcp", params=params).json() == {
        "type": "local",
        "command": "x",
        "args": [],
        "timeoutMs": 5,
    }
    alias = {"directory": str(tmp_path), "mcp_name": "a/b é"}
    assert api.get("/v1/config/mcp", params=alias).status_code == 200
    file = tmp_path / ".sandbox-agent/config/mcp.json"
    through_fs = api.get("/v1/fs/file", params={"path": str(file)})
    assert list(json.loads(through_fs.content)) == ["a/b é"]
    assert api.delete("/v1/config/mcp", params=params).status_code == 204
    problem(api.get("/v1/config/mcp", params=params), 404, "not_found")


@pytest.mark.clause("spec1-5.4-skills-config")
def test_skills_entry(api: httpx.Client, tmp_path: Path) -> None:
    params = {"directory": str(tmp_path), "skillName": "s"}
    entry = {"sources": [{"type": "github", "source": "a/b"}]}
    assert api.put("/v1/config/skills", params=params, json={**entry, "x": 1}).status_code == 204
    assert api.get("/v1/config/skills", params=params).json() == entry
    listed = api.get("/v1/config/skills/entries", params={"directory": str(tmp_path)})
    assert listed.json() == {"entries": {"s": entry}}
    assert api.delete("/v1/config/skills", params=params).status_code == 204


@pytest.mark.clause("config-entries")
def test_listing_names_what_cannot_be_understood(api: httpx.Client, tmp_path: Path) -> None:
    url, params = "/v1/config/mcp/entries", {"directory": str(tmp_path)}
    assert api.get(url, params=params).json() == {"entries": {}}
    file = tmp_path / ".sandbox-agent/config/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"good":{"type":"http","url":"u"},"odd":{"type":"future"}}')
    listed = api.get(url, params=params).json()
    assert listed["entries"] == {"good": {"type": "remote", "url": "u"}}
    assert "future" in listed["invalid"]["odd"]
    odd = api.get("/v1/config/mcp", params={**params, "mcpName": "odd"})
    assert "type" in problem(odd, 409, "conflict")["detail"]
    good = api.get("/v1/config/mcp", params={**params, "mcpName": "good"})
    assert good.status_code == 200, "one odd entry does not spoil the others"


@pytest.mark.clause("spec1-5.3-mcp-config", "spec1-5.4-skills-config")
@pytest.mark.parametrize("kind", ["mcp", "skills"])
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_directory_and_name_are_required(api: httpx.Client, kind: str, method: str) -> None:
    name = "mcpName" if kind == "mcp" else "skillName"
    for params, missing in (
        ({"directory": "/tmp"}, name),  # noqa: S108 - nothing is written
        ({"directory": "/tmp", name: " "}, name),  # noqa: S108 - as above
        ({name: "x"}, "directory"),
        ({"directory": "", name: "x"}, "directory"),
    ):
        answer = api.request(method, f"/v1/config/{kind}", params=params)
        detail = problem(answer, 400, "invalid_request")["detail"]
        assert detail == f"invalid request: missing required '{missing}' query parameter"
    problem(api.get(f"/v1/config/{kind}/entries"), 400, "invalid_request")


@pytest.mark.clause("promise-N-file-limits")
def test_bodies_are_checked(api: httpx.Client, tmp_path: Path) -> None:
    params = {"directory": str(tmp_path), "mcpName": "x"}
    for body, content_type, status, kind in (
        (b"{}", "application/json", 400, "invalid_request"),
        (b'{"type":"local","command":5}', "application/json", 400, "invalid_request"),
        (b"", "application/json", 400, "invalid_request"),
        (json.dumps(LOCAL).encode(), "text/plain", 415, "unsupported_media_type"),
        (json.dumps(LOCAL).encode(), "", 415, "unsupported_media_type"),
        (b" " * (2 << 20) + b"{}", "application/json", 413, "payload_too_large"),
    ):
        headers = {"content-type": content_type} if content_type else {}
        answer = api.put("/v1/config/mcp", params=params, content=body, headers=headers)
        problem(answer, status, kind)
    assert os.listdir(tmp_path) == []


@pytest.mark.clause("decision-25")
@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
def test_a_corrupt_file_is_409_and_stays(api: httpx.Client, tmp_path: Path, method: str) -> None:
    file = tmp_path / ".sandbox-agent/config/mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text("{broken")
    params = {"directory": str(tmp_path), "mcpName": "x"}
    body = json.dumps(LOCAL).encode() if method == "PUT" else None
    headers = {"content-type": "application/json"}
    problem(
        api.request(method, "/v1/config/mcp", params=params, content=body, headers=headers), 409, "conflict"
    )
    assert file.read_text() == "{broken"


def test_a_relative_directory_starts_at_the_servers_working_directory(
    live: tuple[ServerProcess, httpx.Client],
) -> None:
    server, api = live
    params = {"directory": "relative/../relative", "mcpName": "x"}
    (server.home / "relative").mkdir()
    assert api.put("/v1/config/mcp", params=params, json=LOCAL).status_code == 204
    assert (server.home / "relative/.sandbox-agent/config/mcp.json").exists()


@pytest.mark.clause("decision-25")
@pytest.mark.timeout(200)
async def test_fifty_writers_on_two_servers_all_survive_twenty_rounds(tmp_path: Path) -> None:
    """Two servers on one directory; each round fifty different names at the same time."""
    project = tmp_path / "project"
    with running(tmp_path / "one") as (one, _), running(tmp_path / "two") as (two, _):
        limits = httpx.Limits(max_connections=50)
        async with httpx.AsyncClient(timeout=50, limits=limits) as client:

            async def write(server: ServerProcess, name: str) -> int:
                answer = await client.put(
                    f"http://127.0.0.1:{server.port}/v1/config/mcp",
                    params={"directory": str(project), "mcpName": name},
                    json=LOCAL,
                    headers={"authorization": f"Bearer {server.token}"},
                )
                return answer.status_code

            for round_ in range(20):
                names = [f"{round_}-{number}" for number in range(50)]
                written = [write((one, two)[index % 2], name) for index, name in enumerate(names)]
                assert set(await asyncio.gather(*written)) == {204}
                file = project / ".sandbox-agent/config/mcp.json"
                stored = json.loads(file.read_text())
                assert set(names) <= set(stored)
                assert len(stored) == 50 * (round_ + 1)
