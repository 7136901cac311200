"""A server under a user without rights: what the system refuses is 403, and nothing else breaks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.machine.mount_namespace import in_mount_namespace
from tests.support.processes import wait_until
from tests.support.server_process import free_port

from ..file_server import problem

pytestmark = [pytest.mark.process, pytest.mark.root]
UNPRIVILEGED_UID = 65534
ENTRY = {"type": "local", "command": "x"}


@pytest.fixture(scope="module")
def unprivileged() -> Iterator[tuple[Path, httpx.Client]]:
    """Home of an unprivileged server (only that user can write there), and its client."""
    top = Path(tempfile.mkdtemp(prefix="sandbox-agent-403-"))  # pytest's own directories are for root only
    top.chmod(0o755)
    home = top / "home"
    home.mkdir()
    os.chown(home, UNPRIVILEGED_UID, UNPRIVILEGED_UID)
    port = free_port()
    command = [sys.executable, "-m", "sandbox_agent", "server", "--no-token", "--port", str(port)]
    process = subprocess.Popen(
        in_mount_namespace(command, top, UNPRIVILEGED_UID),
        env={"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=subprocess.DEVNULL,
    )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=20) as client:

            def healthy() -> bool:
                assert process.poll() is None
                try:
                    return client.get("/v1/health").status_code == 200
                except httpx.TransportError:
                    return False

            wait_until(healthy, 20, "a healthy server")
            yield home, client
    finally:
        process.terminate()
        process.wait(10)
        shutil.rmtree(top)


@pytest.fixture
def closed(unprivileged: tuple[Path, httpx.Client]) -> Iterator[Path]:
    """A directory of root that the server may neither read nor write, with a file and a full directory."""
    directory = unprivileged[0].parent / "closed"
    (directory / "d").mkdir(parents=True)
    (directory / "f").write_bytes(b"secret")
    (directory / "d/inside").write_bytes(b"secret")
    (directory / "f").chmod(0o600)
    directory.chmod(0o700)
    yield directory
    shutil.rmtree(directory)


@pytest.mark.clause("decision-24")
def test_what_the_user_may_not_do_is_403(unprivileged: tuple[Path, httpx.Client], closed: Path) -> None:
    api = unprivileged[1]
    api.put("/v1/fs/file", params={"path": "mine"}, content=b"x")
    for method, url, params in (
        ("GET", "/v1/fs/file", {"path": f"{closed}/f"}),
        ("GET", "/v1/fs/stat", {"path": f"{closed}/f"}),
        ("GET", "/v1/fs/entries", {"path": str(closed)}),
        ("GET", "/v1/fs/download", {"path": str(closed)}),
        ("PUT", "/v1/fs/file", {"path": f"{closed}/f"}),
        ("PUT", "/v1/fs/file", {"path": f"{closed}/new"}),
        ("POST", "/v1/fs/mkdir", {"path": f"{closed}/new"}),
        ("DELETE", "/v1/fs/entry", {"path": f"{closed}/f"}),
        ("DELETE", "/v1/fs/entry", {"path": f"{closed}/d", "recursive": "true"}),
        ("PUT", "/v1/fs/file", {"path": "/etc/new-file"}),
        ("DELETE", "/v1/fs/entry", {"path": "/etc/passwd"}),
        ("DELETE", "/v1/fs/entry", {"path": "/etc", "recursive": "true"}),
    ):
        document = problem(api.request(method, url, params=params), 403, "permission_denied")
        assert document["detail"] == f"permission denied: {params['path']}"
    for body in ({"from": "mine", "to": f"{closed}/x"}, {"from": f"{closed}/f", "to": "stolen"}):
        problem(api.post("/v1/fs/move", json=body), 403, "permission_denied")
    archive = tarfile.TarInfo("new").tobuf() + bytes(1024)
    headers = {"content-type": "application/x-tar"}
    upload = api.post("/v1/fs/upload-batch", params={"path": str(closed)}, content=archive, headers=headers)
    problem(upload, 403, "permission_denied")
    for method in ("GET", "PUT", "DELETE"):
        params = {"directory": str(closed), "mcpName": "x"}
        entry = ENTRY if method == "PUT" else None
        answer = api.request(method, "/v1/config/mcp", params=params, json=entry)
        problem(answer, 403, "permission_denied")
    assert sorted(os.listdir(closed)) == ["d", "f"]
    assert (unprivileged[0] / "mine").read_bytes() == b"x"


def test_a_readable_directory_that_is_not_writable(unprivileged: tuple[Path, httpx.Client]) -> None:
    home, api = unprivileged
    (home / "readonly").mkdir()
    (home / "readonly/f").write_bytes(b"public")
    try:
        assert api.get("/v1/fs/file", params={"path": "readonly/f"}).content == b"public"
        for method, url in (("PUT", "/v1/fs/file"), ("DELETE", "/v1/fs/entry")):
            answer = api.request(method, url, params={"path": "readonly/f"})
            problem(answer, 403, "permission_denied")
        assert os.listdir(home / "readonly") == ["f"]
    finally:
        shutil.rmtree(home / "readonly")


def test_a_full_delete_that_is_refused_half_way_says_so(unprivileged: tuple[Path, httpx.Client]) -> None:
    home, api = unprivileged
    api.put("/v1/fs/file", params={"path": "tree/mine/f"}, content=b"x")
    (home / "tree/foreign").mkdir()
    (home / "tree/foreign/f").touch()
    try:
        params = {"path": "tree", "recursive": "true"}
        problem(api.delete("/v1/fs/entry", params=params), 403, "permission_denied")
        assert (home / "tree/foreign/f").exists()
    finally:
        shutil.rmtree(home / "tree")


def test_files_belong_to_the_servers_user(unprivileged: tuple[Path, httpx.Client]) -> None:
    home, api = unprivileged
    api.put("/v1/fs/file", params={"path": "owned"}, content=b"x")
    found = (home / "owned").stat()
    assert (found.st_uid, stat.S_IMODE(found.st_mode) & 0o111) == (UNPRIVILEGED_UID, 0)
