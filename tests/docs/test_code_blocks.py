"""Every code block of the documentation is run, read, or marked as not runnable with a reason."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.cli.sandbox_directory import SandboxDirectory
from tests.docs.markdown import ROOT, SPECIFICATIONS, Block, blocks_of, documents
from tests.support.clients.raw_http import Client
from tests.support.processes import wait_until
from tests.support.server_process import ServerProcess, free_port

READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
NEVER_RUN = {"text", "mermaid"}
RUN = {"sh", "bash", "python"}
LIMIT_S = 120
DOCUMENTED_PORT = "2468"


def _all_blocks() -> list[Block]:
    own = [file for file in documents() if not file.is_relative_to(SPECIFICATIONS)]
    return [block for file in own for block in blocks_of(file)]


def _runnable() -> list[Block]:
    """What is to be run; a block that goes on where another ended is run together with it."""
    joined: list[Block] = []
    for block in _all_blocks():
        if block.language not in RUN or block.not_run:
            continue
        if block.continues and joined and joined[-1].file == block.file:
            before = joined[-1]
            text = before.text + block.text
            joined[-1] = Block(before.file, before.line, before.language, text, before.comment)
        else:
            joined.append(block)
    return joined


@pytest.mark.clause("docs-checked")
def test_every_block_has_a_language_we_know_or_says_why_it_is_not_run() -> None:
    known = {*READERS, *NEVER_RUN, *RUN}
    assert [block.name for block in _all_blocks() if block.language not in known and not block.not_run] == []


@pytest.mark.clause("docs-checked")
@pytest.mark.parametrize(
    "block",
    [block for block in _all_blocks() if block.language in READERS and not block.not_run],
    ids=lambda block: block.name,
)
def test_a_data_block_can_be_read(block: Block) -> None:
    READERS[block.language](block.text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    process = ServerProcess(tmp_path_factory.mktemp("documented-server"), token=None).ready()
    yield process
    process.stop()


@pytest.mark.timeout(LIMIT_S + 30)
@pytest.mark.clause("docs-checked")
@pytest.mark.parametrize("block", _runnable(), ids=lambda block: block.name)
def test_a_block_does_what_it_says(
    block: Block, sandbox: SandboxDirectory, request: pytest.FixtureRequest
) -> None:
    port = str(free_port())
    if block.needs_server:
        port = str(request.getfixturevalue("server").port)
    text = _on_port(block.text, port)
    programs = Path(sys.executable).parent
    environment = {
        **sandbox.environment,
        "PATH": f"{programs}:{os.environ['PATH']}",
        # What is started without naming a port takes one that is free.
        "SANDBOX_AGENT_PORT": port,
    }
    if block.language == "python":
        words = [sys.executable, "-c", text]
    else:
        words = [str(shutil.which("bash")), "-euo", "pipefail", "-c", _without_scripts(text, block)]
    # Paths in the documentation start at the root of the repository; nothing may be written there.
    (sandbox.home / "docs").mkdir()
    (sandbox.home / "examples").symlink_to(ROOT / "examples")
    try:
        done = subprocess.run(
            words, env=environment, cwd=sandbox.home, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert done.returncode == 0, f"{block.name}\n{text}\n{done.stdout}\n{done.stderr}"
    finally:
        # A daemon that a block started is not left to the next one.
        if (sandbox.data / "daemon").exists():
            sandbox.run("daemon", "stop", "-p", port)


def _on_port(text: str, port: str) -> str:
    """The text with another port, so that blocks run beside each other and beside a server of the user."""
    text = re.sub(rf"(:|--port ){DOCUMENTED_PORT}\b", rf"\g<1>{port}", text)
    return re.sub(r"(sandbox-agent daemon \w+)(?! --port)\b", rf"\1 --port {port}", text)


def _without_scripts(text: str, block: Block) -> str:
    """Commands without the scripts of the repository, which are checked but not started."""
    kept = []
    for line in text.splitlines():
        first = line.strip().split(" ")[0]
        if first.startswith("scripts/"):
            assert os.access(ROOT / first, os.X_OK), f"{block.name}: {first} is not there"
        else:
            kept.append(line)
    return "\n".join(kept)


def test_a_documented_server_listens_on_the_port_the_test_gives_it(sandbox: SandboxDirectory) -> None:
    """These tests move a server that names no port with `SANDBOX_AGENT_PORT`."""
    port = free_port()
    process = sandbox.open("server", environment={"SANDBOX_AGENT_PORT": str(port)})
    client = Client("127.0.0.1", port, None)

    def healthy() -> bool:
        try:
            return client.get("/v1/health", timeout=2).status == 200
        except OSError:
            return False

    wait_until(healthy, 20, "a healthy server")
    process.terminate()
    assert process.wait(10) == 0
