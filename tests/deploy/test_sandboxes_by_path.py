"""The recipes of docs/clusters.md for nginx and HAProxy: one address for all sandboxes, named in the path."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sandbox_agent import AsyncSandboxAgent
from tests.docs.markdown import ROOT, blocks_of
from tests.support.polling import wait_until
from tests.support.server_process import ServerProcess, free_port
from tests.support.suite.requirements import SYSTEM_PATH

pytestmark = pytest.mark.proxies
TOKEN = "token-of-a-sandbox"
PROMPTS = 10
# Without `option http-no-delay` the fastest prompt takes 0.2 s.
HELD_BACK_S = 0.19


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[ServerProcess]]:
    started = [ServerProcess(tmp_path_factory.mktemp("node"), token=TOKEN).ready() for _ in range(2)]
    yield started
    for server in started:
        server.end()


@pytest.fixture(scope="module", params=["nginx", "haproxy"])
def proxy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a proxy that reaches ports of this machine."""
    name, place, port = request.param, tmp_path_factory.mktemp("proxy"), free_port()
    (block,) = (found for found in blocks_of(ROOT / "docs" / "clusters.md") if found.language == name)
    text = block.text.replace(r"10\.0\.0\.", r"127\.0\.0\.").replace("8080", f"127.0.0.1:{port}")
    words = _nginx(text, place) if name == "nginx" else _haproxy(text.replace(":127.", "127."), place)
    program = shutil.which(words[0], path=SYSTEM_PATH)
    assert program is not None
    with (place / "log").open("wb") as log:
        process = subprocess.Popen([program, *words[1:]], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers() -> bool:
        assert process.poll() is None, (place / "log").read_text()
        try:
            return httpx.get(f"http://127.0.0.1:{port}/").status_code == 404
        except httpx.HTTPError:
            return False

    try:
        wait_until(answers, 20, f"an answer of {name}")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _nginx(text: str, place: Path) -> list[str]:
    folders = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = "".join(f"{name}_temp_path {place}/{name};\n" for name in folders)
    head = f"daemon off;\npid {place}/pid;\nerror_log stderr;\nevents {{}}\n"
    (place / "nginx.conf").write_text(f"{head}http {{\naccess_log off;\n{paths}{text}}}\n")
    return ["nginx", "-c", str(place / "nginx.conf"), "-p", str(place), "-e", "stderr"]


def _haproxy(text: str, place: Path) -> list[str]:
    (place / "haproxy.cfg").write_text(text)
    return ["haproxy", "-db", "-f", str(place / "haproxy.cfg")]


@pytest.mark.clause("rollouts-by-path")
async def test_clients_reach_the_sandbox_that_the_path_names(
    proxy: str, servers: list[ServerProcess]
) -> None:
    for server in servers:
        url = f"{proxy}/s/127.0.0.1/{server.port}"
        async with await AsyncSandboxAgent.connect(url, TOKEN) as client:
            session = await client.sessions.create("mock", directory="/")
            times = []
            for number in range(PROMPTS):
                began = time.monotonic()
                assert (await session.prompt(f"echo {number}")).text == str(number)
                times.append(time.monotonic() - began)
            assert min(times) < HELD_BACK_S
            await client.fs.write(str(server.home / "ä b"), b"x" * 2_000_000)
            assert len(await client.fs.read(str(server.home / "ä b"))) == 2_000_000
            rows = [row["serverId"] for row in server.acp.list()]
            assert len(rows) == 1, "the session is on the server that the path names"


@pytest.mark.clause("rollouts-by-path")
def test_other_addresses_and_missing_tokens_are_refused(proxy: str, servers: list[ServerProcess]) -> None:
    port = servers[0].port
    assert httpx.get(f"{proxy}/s/127.0.0.1/{port}/v1/agents").status_code == 401
    for path in (f"/s/192.0.2.1/{port}/v1/health", f"/s/localhost/{port}/v1/health", "/v1/health"):
        assert httpx.get(f"{proxy}{path}").status_code == 404
