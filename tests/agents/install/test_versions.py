"""Requested versions of the adapter, of the vendor's program, or of both; with the real npm."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.errors import InvalidRequest
from tests.agents.install.install_environment import InstallEnvironment
from tests.agents.install.sources.npm_registry import NpmRegistry
from tests.agents.tiny_agent_package import npm_agent, npm_package

# As claude and codex: an adapter that brings the vendor's program along, and can be given another one.
VENDOR = """
[[agent.install]]
npm = ["vendor-program"]
into = "vendor"
native = true
on_request = true
program = "vendor/node_modules/.bin/vendor-program"
env = { VENDOR_PROGRAM = "{root}/vendor/node_modules/.bin/vendor-program" }
"""


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[NpmRegistry]:
    with NpmRegistry() as running:
        for version in ("1.0.0", "1.1.0"):
            running.publish(npm_package(tmp_path / f"adapter-{version}", version=version))
        for version in ("5.0.0", "5.1.0"):
            running.publish(npm_package(tmp_path / f"vendor-{version}", "vendor-program", version=version))
        yield running


def environment_with_registry(
    directory: Path, npm: NpmRegistry, more: str = "", **keys: str
) -> InstallEnvironment:
    environment = InstallEnvironment(directory, npm_agent(Path("tiny-agent@1.0.0"), **keys) + more)
    environment.environ["npm_config_registry"] = npm.address
    return environment


@pytest.mark.clause("install-versions")
async def test_requested_vendor_program_is_installed_beside_the_adapter(
    tmp_path: Path, registry: NpmRegistry
) -> None:
    environment = environment_with_registry(tmp_path, registry, VENDOR, native='"vendor"')
    pinned = await environment.installer().install("tiny")
    assert [(a.kind, a.version) for a in pinned.artifacts] == [("agent_process", "1.0.0")]
    assert not any("vendor" in path for path in registry.asked)
    chosen = await environment.installer().install("tiny", agent_version="5.0.0")
    assert [(a.kind, a.version) for a in chosen.artifacts] == [
        *(("native_agent", "5.0.0"), ("agent_process", "1.0.0")),
    ]
    link = environment.data / "bin" / "vendor"
    assert link.resolve().parent.name == "vendor-program" and link.resolve().name == "agent.js"
    launcher = environment.launcher_file().read_text()
    assert "export VENDOR_PROGRAM=" in launcher and "/vendor/node_modules/.bin/vendor-program" in launcher
    assert (await environment.installer().install("tiny", agent_version="5.0.0")).already_installed
    assert (await environment.installer().install("tiny")).already_installed
    assert not (await environment.installer().install("tiny", agent_version="5.1.0")).already_installed


async def test_both_versions_can_be_chosen(tmp_path: Path, registry: NpmRegistry) -> None:
    environment = environment_with_registry(
        tmp_path, registry, VENDOR, native='"vendor"', registry='["tiny"]'
    )
    result = await environment.installer().install(
        "tiny", agent_version="5.1.0", agent_process_version="1.1.0"
    )
    assert [artifact.version for artifact in result.artifacts] == ["5.1.0", "1.1.0"]
    assert await environment.starts()


@pytest.mark.clause("install-versions")
async def test_agent_that_is_one_program_accepts_either_version_field(
    tmp_path: Path, registry: NpmRegistry
) -> None:
    environment = environment_with_registry(tmp_path, registry)
    result = await environment.installer().install("tiny", agent_version="1.1.0")
    assert [artifact.version for artifact in result.artifacts] == ["1.1.0"]
    assert (await environment.installer().install("tiny", agent_process_version="1.1.0")).already_installed
    both = await environment.installer().install("tiny", agent_version="1.1.0", agent_process_version="1.1.0")
    assert both.already_installed
    with pytest.raises(InvalidRequest, match="one program"):
        await environment.installer().install("tiny", agent_version="1.1.0", agent_process_version="1.0.0")


@pytest.mark.clause("install-versions")
async def test_fixed_vendor_version_is_refused_with_an_alternative(
    tmp_path: Path, registry: NpmRegistry
) -> None:
    environment = environment_with_registry(tmp_path, registry, native='"vendor"')
    with pytest.raises(InvalidRequest, match="choose agentProcessVersion instead"):
        await environment.installer().install("tiny", agent_version="5.0.0")


async def test_nonexistent_version_is_reported_by_npm(tmp_path: Path, registry: NpmRegistry) -> None:
    environment = environment_with_registry(tmp_path, registry)
    with pytest.raises(Exception, match="install failed: tiny") as caught:
        await environment.installer().install("tiny", agent_version="9.9.9")
    assert "tiny-agent@9.9.9" in caught.value.extensions["details"]["stderr"] and environment.is_untouched()


@pytest.mark.clause("install-versions")
@pytest.mark.parametrize("agent", [a for a in Catalog().ids() if Catalog().get(a).install])
def test_vendor_version_of_every_built_in_agent_can_be_chosen(agent: str) -> None:
    spec = Catalog().get(agent)
    assert spec.is_one_program or any(step.native for step in spec.install)


@pytest.mark.clause("install-offline")
async def test_package_in_npms_cache_is_installed_without_a_network(
    tmp_path: Path, registry: NpmRegistry
) -> None:
    environment = environment_with_registry(tmp_path, registry)
    await environment.installer().install("tiny")
    registry.close()
    assert not (await environment.installer().install("tiny", reinstall=True)).already_installed
    assert await environment.starts()
