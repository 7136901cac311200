"""An engine for all tests of a file, and providers that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from sandbox_agent import ContainerProvider, docker, podman
from tests.support.machine.container_engines import (
    EMPTY_IMAGE,
    Engine,
    own_path,
    own_programs,
    run_docker,
    run_podman,
)

PODMAN = pytest.mark.parametrize(
    "engine", [pytest.param("podman", marks=pytest.mark.podman)], indirect=True, scope="session"
)
"""For tests of what does not depend on the engine: they run with one."""
MakeProvider = Callable[..., ContainerProvider]


@pytest.fixture(
    scope="session",
    params=[
        pytest.param("podman", marks=pytest.mark.podman),
        pytest.param("docker", marks=pytest.mark.dockerd),
    ],
)
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    with (run_podman if request.param == "podman" else run_docker)() as engine:
        yield engine


@pytest.fixture
def make_provider(engine: Engine) -> Iterator[MakeProvider]:
    """Providers whose containers run the programs of this machine; afterwards none may be left."""
    make = {"podman": podman, "docker": docker}[engine.name]

    def provider(image: str = EMPTY_IMAGE, **options: Any) -> ContainerProvider:
        if "bundle" not in options:
            mounts = {**own_programs(), **options.pop("mounts", {})}
            options |= {"mounts": mounts, "env": {"PATH": own_path(), **options.get("env", {})}}
        options.setdefault("network", "host" if engine.name == "docker" else None)
        return make(image, engine=engine.address, **options)

    yield provider
    left = engine.containers()
    engine.remove_all()
    assert left == []
