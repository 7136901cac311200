"""The published TypeScript SDK (0.4.2): all its file and config methods, unchanged, against this server."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from tests.support.clients.published_clients import REFERENCE_PACKAGES, installed

from ..file_server import running

SCRIPT = Path(__file__).with_name("reference_files.mjs")


def _program(name: str) -> str:
    found = shutil.which(name)
    assert found is not None, f"{name} is needed for this test"
    return found


@pytest.fixture(scope="module")
def modules() -> Path:
    """The published packages, installed once for all tests that use them."""
    return installed("reference-clients", REFERENCE_PACKAGES).parent


@pytest.mark.clause("files-published-sdk")
@pytest.mark.timeout(300)
def test_every_file_and_config_method_works(modules: Path, tmp_path: Path) -> None:
    archive = tmp_path / "upload.tar"
    with tarfile.open(archive, "w") as tar:
        info = tarfile.TarInfo("in/file.txt")
        info.size = 3
        tar.addfile(info, io.BytesIO(b"tar"))
    work = tmp_path / "work"
    work.mkdir()
    with running(tmp_path / "server") as (server, _):
        arguments = [
            str(modules),
            f"http://127.0.0.1:{server.port}",
            str(server.token),
            str(work),
            str(archive),
        ]
        done = subprocess.run(
            [_program("node"), str(SCRIPT), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    kind = "urn:sandbox-agent:error:"
    assert json.loads(done.stdout) == {
        "uploaded": [f"{work}/up/in/file.txt"],
        "notEmpty": kind + "invalid_request",
        "missing": kind + "not_found",
        "relative": kind + "invalid_request",
        "noEntry": kind + "not_found",
        "badEntry": kind + "invalid_request",
    }
    assert (work / "up/in/file.txt").read_bytes() == b"tar"
