"""What is built once for all packaging tests, as `scripts/build` makes it: wheel, sdist and single file."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path
    archive: Path
    wheels: Path
    """A directory with the wheel and all it needs, to install from without a network."""


def _run(*words: str) -> None:
    environment = {**os.environ, "SANDBOX_AGENT_SKIP_PAGE": "1"}
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=LIMIT_S, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    output = tmp_path_factory.mktemp("dist")
    _run("-m", "build", "--no-isolation", "--outdir", str(output), ".")
    wheel, sdist = next(output.glob("*.whl")), next(output.glob("*.tar.gz"))
    archive = output / "sandbox-agent.pyz"
    _run("scripts/distribution/build_archive.py", str(wheel), str(archive))
    wheels = output / "wheels"
    with zipfile.ZipFile(archive) as content:
        content.extractall(output)
    return Built(wheel, sdist, archive, wheels)


@pytest.fixture(scope="session")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` directory of an empty environment outside the checkout into which the wheel was installed."""
    return install(built, tmp_path_factory.mktemp("environment"))


def install(built: Built, environment: Path) -> Path:
    """Make an environment and install the wheel into it, from what was built; the `bin` directory of it."""
    _run("-m", "venv", "--without-pip", str(environment))
    python = str(environment / "bin" / "python")
    offline = ("--no-index", "--find-links", str(built.wheels))
    _run("-m", "pip", "--python", python, "install", "--quiet", *offline, str(built.wheel))
    return environment / "bin"
