"""The ACP registry: agents without a pin, requested versions, archives with checksums."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.agents.install.install_progress import Progress
from sandbox_agent.agents.install.sources.acp_registry import (
    RegistryPackage,
    RegistryUnavailable,
    find_distribution,
)
from sandbox_agent.agents.install.sources.platform_name import registry_platform
from sandbox_agent.errors import InstallFailed
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.tiny_agent_package import npm_agent, npm_package, wheel

SCRIPT = (
    "#!/usr/bin/env python3\nimport sys, json\nfor line in sys.stdin:\n"
    "    print(json.dumps({'jsonrpc': '2.0', 'id': json.loads(line)['id'], 'result': {'protocolVersion': 1, "
    "'argv': sys.argv[1:]}}), flush=True)\n"
)
AGENT = '[[agent]]\nid = "tiny"\nregistry = ["other-name", "tiny"]\n'


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Quiet."""


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the address it is served at."""
    folder = tmp_path / "site"
    folder.mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    yield folder, f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


def publish(site: tuple[Path, str], version: str = "2.0.0", **distribution: Any) -> str:
    folder, address = site
    entry = {
        "id": "tiny",
        "name": "Tiny",
        "version": version,
        "description": "",
        "distribution": distribution,
    }
    (folder / "registry.json").write_text(json.dumps({"version": "1.0.0", "agents": [entry]}))
    return f"{address}/registry.json"


def archive(folder: Path, name: str) -> str:
    """The agent packed as the name says; returns its sha256."""
    data = io.BytesIO()
    if name.endswith(".zip"):
        with zipfile.ZipFile(data, "w") as packed:
            packed.writestr("dist/agent", SCRIPT)
    elif ".tar" in name or name.endswith(("gz", "bz2")):
        mode = "w:bz2" if name.endswith("bz2") else "w:gz"
        with tarfile.open(fileobj=data, mode=mode) as tar:  # type: ignore[call-overload]
            info = tarfile.TarInfo("dist/agent")
            info.size = len(SCRIPT)
            tar.addfile(info, io.BytesIO(SCRIPT.encode()))
    else:
        data.write(SCRIPT.encode())
    (folder / name).write_bytes(data.getvalue())
    return hashlib.sha256(data.getvalue()).hexdigest()


def binary(site: tuple[Path, str], name: str, sha256: str | None = None) -> str:
    way = {"archive": f"{site[1]}/{name}", "cmd": "./dist/agent", "args": ["acp"], "env": {"QUIET": "1"}}
    if sha256:
        way["sha256"] = sha256
    return publish(site, binary={registry_platform(): way})


def environment_with_registry(directory: Path, url: str, agents: str = AGENT) -> InstallEnvironment:
    environment = InstallEnvironment(directory, agents)
    environment.environ["SANDBOX_AGENT_ACP_REGISTRY_URL"] = url
    return environment


@pytest.mark.clause("decision-46")
@pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.tar.bz2", "a.tbz2", "a.zip", "plain-program"])
async def test_archive_of_every_form_is_unpacked_and_started(
    tmp_path: Path, site: tuple[Path, str], name: str
) -> None:
    environment = environment_with_registry(tmp_path, binary(site, name, archive(site[0], name)))
    seen: list[Progress] = []
    result = await environment.installer().install("tiny", progress=seen.append)
    (artifact,) = result.artifacts
    assert (artifact.source, artifact.version) == ("registry", "2.0.0")
    assert "export QUIET=1" in environment.launcher_file().read_text()
    assert any(progress.step == "download" and progress.percent == 95 for progress in seen)
    assert await environment.starts()


@pytest.mark.clause("install-sources")
async def test_wrong_checksum_is_refused_before_anything_is_unpacked(
    tmp_path: Path, site: tuple[Path, str]
) -> None:
    archive(site[0], "a.tar.gz")
    environment = environment_with_registry(tmp_path, binary(site, "a.tar.gz", "0" * 64))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "the registry promised 000" in caught.value.extensions["details"]["stderr"]
    assert environment.is_untouched()


async def test_remote_archive_without_tls_is_refused(tmp_path: Path, site: tuple[Path, str]) -> None:
    way = {"archive": "http://example.invalid/a.tar.gz", "cmd": "agent"}
    environment = environment_with_registry(tmp_path, publish(site, binary={registry_platform(): way}))
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "not https" in caught.value.extensions["details"]["stderr"]


@pytest.mark.clause("install-sources")
async def test_npx_agent_is_installed_with_npm(tmp_path: Path, site: tuple[Path, str]) -> None:
    package = npm_package(tmp_path)
    url = publish(site, npx={"package": f"tiny-agent@{package}", "args": ["--acp"]})
    environment = environment_with_registry(tmp_path, url, AGENT + "node = 18\n")
    assert await environment.starts()
    assert "node_modules/.bin/tiny-agent --acp" in environment.launcher_file().read_text()


@pytest.mark.clause("install-sources")
async def test_uvx_agent_is_installed_into_an_environment(tmp_path: Path, site: tuple[Path, str]) -> None:
    wheel(tmp_path / "wheels", "tiny_agent")
    environment = environment_with_registry(tmp_path, publish(site, uvx={"package": "tiny-agent@1.2.3"}))
    environment.environ["PIP_FIND_LINKS"] = str(tmp_path / "wheels")
    assert await environment.starts()


async def test_agent_the_registry_does_not_have_for_this_machine(
    tmp_path: Path, site: tuple[Path, str]
) -> None:
    environment = environment_with_registry(
        tmp_path, publish(site, binary={"plan9-mips": {"archive": "x", "cmd": "y"}})
    )
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "has no tiny for this machine" in caught.value.extensions["details"]["stderr"]


@pytest.mark.clause("decision-46")
async def test_registry_that_is_down_fails_within_seconds(tmp_path: Path) -> None:
    environment = environment_with_registry(tmp_path, "http://127.0.0.1:9/registry.json")
    start = time.monotonic()
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny")
    assert "cannot be reached" in caught.value.extensions["details"]["stderr"]
    assert time.monotonic() - start < 20


@pytest.mark.clause("decision-46", "install-offline")
async def test_pinned_agent_never_asks_the_registry(tmp_path: Path) -> None:
    agents = npm_agent(npm_package(tmp_path), registry='["tiny"]')
    environment = environment_with_registry(tmp_path, "http://127.0.0.1:9/registry.json", agents)
    assert (await environment.installer().install("tiny")).artifacts[0].source == "fallback"


@pytest.mark.clause("decision-46")
async def test_requested_version_is_installed_from_the_registry(
    tmp_path: Path, site: tuple[Path, str]
) -> None:
    url = binary(site, "a.zip", archive(site[0], "a.zip"))
    environment = environment_with_registry(
        tmp_path, url, npm_agent(npm_package(tmp_path), registry='["tiny"]')
    )
    result = await environment.installer().install("tiny", agent_process_version="2.0.0")
    assert (result.artifacts[0].source, result.artifacts[0].version) == ("registry", "2.0.0")
    assert (await environment.installer().install("tiny", agent_process_version="2.0.0")).already_installed


async def test_preview_is_found_by_its_version(site: tuple[Path, str]) -> None:
    folder, address = site
    preview = {"version": "3.0.0", "distribution": {"npx": {"package": "tiny@3.0.0"}}}
    entry = {"id": "t", "version": "2.0.0", "distribution": {"uvx": {"package": "t@2.0"}}, "preview": preview}
    (folder / "r.json").write_text(json.dumps({"agents": [entry]}))
    assert await find_distribution(f"{address}/r.json", ["t"]) == RegistryPackage("pypi", "t==2.0", "2.0.0")
    assert await find_distribution(f"{address}/r.json", ["t"], "3.0.0") == RegistryPackage(
        "npm", "tiny@3.0.0", "3.0.0"
    )
    assert await find_distribution(f"{address}/r.json", ["t"], "4.0.0") is None
    assert await find_distribution(f"{address}/r.json", ["unknown"]) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"agents": 1}', "<html>"])
async def test_document_that_is_not_a_registry_is_an_error(site: tuple[Path, str], text: str) -> None:
    (site[0] / "r.json").write_text(text)
    with pytest.raises(RegistryUnavailable):
        await find_distribution(f"{site[1]}/r.json", ["t"])


@pytest.mark.parametrize(
    "entry",
    [
        {"id": "t"},
        {"id": "t", "version": "1", "distribution": []},
        {"id": "t", "version": "1", "distribution": {"npx": {}}},
        {"id": "t", "version": "1", "distribution": {"binary": {registry_platform(): {"cmd": "x"}}}},
        "t",
    ],
)
async def test_malformed_entry_is_skipped(site: tuple[Path, str], entry: Any) -> None:
    (site[0] / "r.json").write_text(json.dumps({"agents": [entry]}))
    assert await find_distribution(f"{site[1]}/r.json", ["t"]) is None


async def test_requested_version_of_one_of_several_packages_keeps_the_other_pins(
    tmp_path: Path, site: tuple[Path, str]
) -> None:
    """The registry has only the adapter; an agent that needs more would not work with it."""
    url = binary(site, "a.zip", archive(site[0], "a.zip"))
    second = f'[[agent.install]]\nnpm = ["{npm_package(tmp_path, "second-part")}"]\ninto = "second"\n'
    environment = environment_with_registry(
        tmp_path, url, npm_agent(Path("tiny-agent@1.0.0"), registry='["tiny"]') + second
    )
    with pytest.raises(InstallFailed) as caught:
        await environment.installer().install("tiny", agent_process_version="2.0.0")
    assert "tiny-agent" in caught.value.extensions["details"]["stderr"]
