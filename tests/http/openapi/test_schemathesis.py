"""Generated requests over the whole OpenAPI document, against a live server whose mounts are read-only.

No fault of the server, no status that is not documented, no answer that breaks its schema. The server's files
are a temporary directory, the rest of the machine is read-only, and nothing is installed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.machine.mount_namespace import in_mount_namespace
from tests.support.processes import wait_until
from tests.support.server_process import free_port

pytestmark = [pytest.mark.process, pytest.mark.root]
TOKEN = "token-of-the-generated-requests"
CHECKS = (
    "no_fault_of_the_server",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "missing_required_header",
    "unsupported_method",
    "use_after_free",
    "ignored_auth",
)
HOOKS = Path(__file__).with_name("schemathesis_hooks.py")
SECONDS = 300  # on a busy machine; about 20 on an idle one


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Address of a server that can write to one temporary directory only."""
    with tempfile.TemporaryDirectory(prefix="sandbox-agent-generated-") as name:
        top = Path(name)
        for directory in ("root", "data", "bin"):
            (top / directory).mkdir()
        port = free_port()
        # An empty PATH: neither npm nor anything else to install with.
        command = [
            "env",
            f"PATH={top / 'bin'}",
            sys.executable,
            "-m",
            "sandbox_agent",
            "server",
            "--port",
            str(port),
        ]
        command += ["--fs-root", str(top / "root"), "--max-instances", "20", "--fs-timeout-ms", "5000"]
        command += ["--acp-request-timeout-ms", "3000"]
        with (top / "log").open("wb") as log:
            process = subprocess.Popen(
                in_mount_namespace(command, top),
                env={
                    "HOME": str(top / "root"),
                    "PATH": os.environ["PATH"],
                    "XDG_DATA_HOME": str(top / "data"),
                    "SANDBOX_AGENT_TOKEN": TOKEN,
                    "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1",
                    "PYTHONDONTWRITEBYTECODE": "1",
                },
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        try:
            address = f"http://127.0.0.1:{port}"

            def healthy() -> bool:
                assert process.poll() is None, (top / "log").read_text()
                headers = {"authorization": f"Bearer {TOKEN}"}
                try:
                    return httpx.get(f"{address}/v1/health", headers=headers).status_code == 200
                except httpx.TransportError:
                    return False

            wait_until(healthy, 20, "a healthy server")
            yield address
            assert "Traceback" not in (top / "log").read_text(errors="replace")
        finally:
            process.terminate()
            process.wait(10)


def amount(full_run: bool, examples: int) -> list[str]:
    """So many examples of each operation; with `--full` ten times as many, for a limited time."""
    if not full_run:
        return ["--max-examples", str(examples)]
    return ["--max-examples", str(10 * examples), "--max-time", str(SECONDS - 100)]


def schemathesis(server: str, directory: Path, *arguments: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "schemathesis.cli", "run"),
            f"{server}/openapi.json",
            *("--header", f"Authorization: Bearer {TOKEN}"),
            *("--checks", ",".join(CHECKS)),
            *("--request-timeout", "20", "--seed", "1", "--generation-database", "none"),
            *("--warnings", "off", "--no-shrink", "--suppress-health-check", "all"),
            *arguments,
        ],
        cwd=directory,
        env={**os.environ, "SCHEMATHESIS_HOOKS": str(HOOKS)},
        capture_output=True,
        text=True,
        timeout=SECONDS - 20,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]


@pytest.mark.clause("openapi-generated-requests", "fuzz-files")
@pytest.mark.timeout(SECONDS)
def test_generated_requests_find_no_fault(server: str, tmp_path: Path, full_run: bool) -> None:
    """All operations, request by request."""
    schemathesis(
        server,
        tmp_path,
        *("--phases", "examples,coverage,fuzzing", *amount(full_run, 8)),
    )


@pytest.mark.clause("openapi-generated-requests")
@pytest.mark.timeout(SECONDS)
def test_generated_chains_of_requests_find_no_fault(server: str, tmp_path: Path, full_run: bool) -> None:
    """What one answer names is used by the next request."""
    schemathesis(
        server,
        tmp_path,
        *("--phases", "stateful", *amount(full_run, 32)),
    )
