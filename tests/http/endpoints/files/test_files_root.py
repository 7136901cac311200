"""A server bound by --fs-root: files and config end there, with 403."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.server_process import bare_environment, server_command

from ..file_server import problem, running

ENTRY = {"type": "local", "command": "x"}


@pytest.fixture(scope="module")
def bound(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, httpx.Client]]:
    top = tmp_path_factory.mktemp("bound")
    root = top / "root"
    root.mkdir()
    (top / "secret").write_bytes(b"secret")
    (root / "out").symlink_to(top)
    with running(top / "server", "--fs-root", str(root)) as (_, api):
        yield root, api


@pytest.mark.clause("decision-48")
def test_relative_paths_start_at_the_root(bound: tuple[Path, httpx.Client]) -> None:
    root, api = bound
    answer = api.put("/v1/fs/file", params={"path": "a/b"}, content=b"x")
    assert answer.json()["path"] == f"{root}/a/b"
    assert (root / "a/b").read_bytes() == b"x"


@pytest.mark.clause("decision-48")
def test_everything_outside_is_403(bound: tuple[Path, httpx.Client]) -> None:
    root, api = bound
    before = sorted(os.listdir(root.parent))
    for path in ("/etc/passwd", f"{root}/../secret", "out/secret", f"{root}/out/secret", "out/new/x"):
        for method, url in (
            ("GET", "/v1/fs/file"),
            ("PUT", "/v1/fs/file"),
            ("GET", "/v1/fs/stat"),
            ("GET", "/v1/fs/entries"),
            ("GET", "/v1/fs/download"),
            ("DELETE", "/v1/fs/entry"),
            ("POST", "/v1/fs/mkdir"),
        ):
            answer = api.request(method, url, params={"path": path})
            problem(answer, 403, "permission_denied")
        for body in ({"from": path, "to": "here"}, {"from": "a", "to": path, "overwrite": True}):
            api.put("/v1/fs/file", params={"path": "a"}, content=b"x")
            problem(api.post("/v1/fs/move", json=body), 403, "permission_denied")
    for directory in ("/tmp", "..", "out", f"{root}/../x"):  # noqa: S108 - refused
        params = {"directory": directory, "mcpName": "x"}
        problem(api.put("/v1/config/mcp", params=params, json=ENTRY), 403, "permission_denied")
        problem(api.get("/v1/config/mcp", params=params), 403, "permission_denied")
    assert sorted(os.listdir(root.parent)) == before
    assert (root.parent / "secret").read_bytes() == b"secret"


@pytest.mark.clause("decision-48")
def test_config_below_the_root_works(bound: tuple[Path, httpx.Client]) -> None:
    root, api = bound
    params = {"directory": "project", "mcpName": "x"}
    assert api.put("/v1/config/mcp", params=params, json=ENTRY).status_code == 204
    assert (root / "project/.sandbox-agent/config/mcp.json").exists()


def test_the_top_and_the_home_directory_are_400_also_when_they_lie_outside(
    bound: tuple[Path, httpx.Client],
) -> None:
    root, api = bound
    home = root.parent / "server" / "home"
    assert home.is_dir()
    for path in ("/", "//", "/.", "/tmp/..", str(home), f"{home}/"):  # noqa: S108 - refused
        answer = api.delete("/v1/fs/entry", params={"path": path, "recursive": "true"})
        problem(answer, 400, "invalid_request")
        problem(api.post("/v1/fs/move", json={"from": path, "to": "here"}), 400, "invalid_request")


@pytest.mark.clause("files-protected")
def test_the_root_itself_is_protected(bound: tuple[Path, httpx.Client]) -> None:
    root, api = bound
    for path in (str(root), ".", f"{root}/."):
        params = {"path": path, "recursive": "true"}
        problem(api.delete("/v1/fs/entry", params=params), 400, "invalid_request")


def test_a_root_that_is_no_directory_is_reported_at_start(tmp_path: Path) -> None:
    done = subprocess.run(
        [*server_command(), "server", "--port", "0", "--no-token", "--fs-root", str(tmp_path / "missing")],
        capture_output=True,
        text=True,
        timeout=30,
        env=bare_environment(tmp_path),
        check=False,
    )
    assert done.returncode == 2
    assert f"--fs-root is not a directory: {tmp_path}/missing" in done.stderr
