"""`/v1/git`, `/v1/fs/watch` and `/v1/system` of a running server."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.git_repository import git, new_repository
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess

from .file_server import problem, running

pytestmark = pytest.mark.process
Running = tuple[ServerProcess, httpx.Client, Path]


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    top = tmp_path_factory.mktemp("changes")
    with running(top / "server") as (server, client):
        yield server, client, new_repository(top / "repo")


@pytest.mark.clause("changes-git-status", "changes-git-diff", "changes-git-log", "decision-52")
def test_status_diff_and_log_follow_a_change(served: Running) -> None:
    _, client, repository = served
    params = {"path": str(repository)}
    assert client.get("/v1/git/status", params=params).json()["entries"] == []
    (repository / "a.txt").write_text("changed\n")
    entry = {"path": "a.txt", "kind": "changed", "index": ".", "worktree": "M", "submodule": False}
    assert client.get("/v1/git/status", params=params).json()["entries"] == [entry]
    (file,) = client.get("/v1/git/diff", params=params).json()["files"]
    assert (file["path"], file["added"], file["removed"]) == ("a.txt", 1, 3)
    assert "\n+changed\n" in file["patch"]
    log = client.get("/v1/git/log", params={**params, "limit": 1}).json()
    assert log["commits"][0]["id"] == git(repository, "rev-parse", "HEAD")


@pytest.mark.clause("changes-git-no-repository")
def test_bad_requests_have_problem_documents(served: Running) -> None:
    _, client, repository = served
    answer = problem(client.get("/v1/git/status", params={"path": "/"}), 404, "not_found")
    assert answer["details"]["resource"] == "git repository"
    wrong: tuple[dict[str, str], ...] = ({"base": "nonsense"}, {"context": "many"}, {"context": "1001"})
    for parameters in wrong:
        answer = client.get("/v1/git/diff", params={"path": str(repository), **parameters})
        problem(answer, 400, "invalid_request")
    problem(client.get("/v1/fs/watch", params={"path": "/missing"}), 404, "not_found")
    problem(client.post("/v1/git/status"), 405, "method_not_allowed")


def events(response: httpx.Response) -> Iterator[tuple[str, Any]]:
    name = ""
    for line in response.iter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


@pytest.mark.clause("changes-fs-watch", "decision-52")
def test_a_watch_streams_changes_until_the_directory_is_gone(served: Running, tmp_path: Path) -> None:
    _, client, _ = served
    watched = tmp_path / "watched"
    (watched / "below").mkdir(parents=True)
    with client.stream("GET", "/v1/fs/watch", params={"path": str(watched), "recursive": "true"}) as response:
        assert response.headers["content-type"] == "text/event-stream"
        stream = events(response)
        assert next(stream) == ("ready", {"path": str(watched), "directories": 2, "complete": True})
        (watched / "below/new").write_text("x")
        created = {"path": str(watched / "below/new"), "kind": "created", "entryType": "file"}
        assert next(stream) == ("change", {"changes": [created]})
        (watched / "below/new").unlink()
        (watched / "below").rmdir()
        watched.rmdir()
        names = [name for name, _ in stream]
    assert names[-1] == "end"


def inotify_instances(pid: int) -> int:
    links = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
    return sum("inotify" in link for link in links)


@pytest.mark.clause("changes-fs-watch")
def test_a_client_that_leaves_frees_its_watch(tmp_path: Path) -> None:
    with running(tmp_path, "--acp-heartbeat-ms", "200", "--max-streams", "1") as (server, client):
        with client.stream("GET", "/v1/fs/watch") as response:
            next(events(response))
            assert inotify_instances(server.pid) == 1
            problem(client.get("/v1/fs/watch"), 429, "too_many_streams")
        wait_until(lambda: inotify_instances(server.pid) == 0, 10, "the watch is closed")
        with client.stream("GET", "/v1/fs/watch") as response:
            assert next(events(response))[0] == "ready"


@pytest.mark.clause("changes-system", "decision-52")
def test_the_system_shows_the_machine_and_each_tree(served: Running) -> None:
    server, client, _ = served
    first = client.get("/v1/system").json()
    assert first["cpu"]["limit"] > 0 and len(first["cpu"]["loadAverage"]) == 3
    for space in (first["memory"], first["disk"]):
        assert 0 < space["availableBytes"] <= space["totalBytes"]
    assert first["server"]["pid"] == server.pid and first["server"]["memoryBytes"] > 1_000_000
    initialize = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
    client.post("/v1/acp/one", params={"agent": "mock"}, json=initialize).raise_for_status()
    later = client.get("/v1/system").json()
    assert later["cpu"]["busySeconds"] >= first["cpu"]["busySeconds"]
    (tree,) = later["instances"]
    assert (tree["serverId"], tree["agent"], tree["processes"]) == ("one", "mock", 1)
    assert tree["memoryBytes"] > 1_000_000 and tree["cpuSeconds"] >= 0
    client.delete("/v1/acp/one")
    assert client.get("/v1/system").json()["instances"] == []
    assert later["processes"] == []
    launch = {"command": "sh", "args": ["-c", "sleep 600 & wait"]}
    started = client.post("/v1/processes", json=launch).raise_for_status().json()

    def tree_of_two() -> bool:
        (tree,) = client.get("/v1/system").json()["processes"]
        assert (tree["processId"], tree["command"], tree["pid"]) == (started["id"], "sh", started["pid"])
        return tree["processes"] == 2 and tree["memoryBytes"] > 100_000 and tree["cpuSeconds"] >= 0

    wait_until(tree_of_two, 20, "both processes")
    client.post(f"/v1/processes/{started['id']}/kill").raise_for_status()
    wait_until(lambda: client.get("/v1/system").json()["processes"] == [], 20, "the end of the tree")


@pytest.mark.clause("changes-switched-off", "decision-52")
def test_each_can_be_switched_off(tmp_path: Path) -> None:
    with running(tmp_path, "--git", "off", "--fs-watch", "off", "--system", "off") as (_, client):
        for flag, paths in {
            "--git": ["/v1/git/status", "/v1/git/diff", "/v1/git/log"],
            "--fs-watch": ["/v1/fs/watch"],
            "--system": ["/v1/system"],
        }.items():
            for path in paths:
                assert problem(client.get(path), 404, "not_found")["details"] == {"setting": flag}


@pytest.mark.root
@pytest.mark.clause("changes-git-agent-user")
def test_git_runs_as_the_user_of_the_agents(tmp_path: Path) -> None:
    # pytest keeps its own directories from other users.
    with tempfile.TemporaryDirectory() as place:
        Path(place).chmod(0o755)
        program = Path(place, "git")
        program.write_text("#!/bin/sh\nid -u >&2\nexit 1\n")
        program.chmod(0o755)
        path = {"PATH": f"{place}:{os.environ['PATH']}"}
        with running(tmp_path / "server", "--agent-user", "nobody", settings=path) as (_, client):
            answer = problem(client.get("/v1/git/status", params={"path": place}), 404, "not_found")
    assert answer["details"]["message"] == "65534"
