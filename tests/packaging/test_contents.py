"""What is inside the wheel, the sdist and the single file."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

from .conftest import LIMIT_S, Built

# What is built and installed once counts for the first test that needs it.
pytestmark = pytest.mark.timeout(300)


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_the_wheel_has_the_page_the_types_and_the_catalogue_and_no_tests(built: Built) -> None:
    names = zipfile.ZipFile(built.wheel).namelist()
    for wanted in ("py.typed", "page/index.html"):
        assert f"sandbox_agent/{wanted}" in names
    assert any(name.startswith("sandbox_agent/page/assets/") for name in names)
    # verifiers loads a harness by the name of a package without dots, so it has a package of its own.
    packages = {name.split("/")[0].split("-")[0] for name in names}
    assert packages == {"sandbox_agent", "sandbox_agent_verifiers"}


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_a_wheel_built_from_the_sdist_has_the_page_too(built: Built, tmp_path: Path) -> None:
    with tarfile.open(built.sdist) as archive:
        assert not [name for name in archive.getnames() if "node_modules" in name]
    words = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*words, "--wheel-dir", str(tmp_path), str(built.sdist)],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    again = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert sorted(again) == sorted(zipfile.ZipFile(built.wheel).namelist())


@pytest.mark.clause("packaging-wheel-and-sdist")
def test_a_plain_install_brings_no_formatter_of_terminals(built: Built) -> None:
    """httpx imports its command line wherever rich and Pygments are: 5 MB per process."""
    archive = zipfile.ZipFile(built.wheel)
    metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    required = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist", [])
    names = {re.split(r"[^A-Za-z0-9._-]", requirement)[0].lower() for requirement in required}
    assert "httpx" in names and "rich" not in names
    brought = {wheel.name.split("-")[0].lower() for wheel in built.wheels.glob("*.whl")}
    assert "httpx" in brought and not brought & {"rich", "pygments", "markdown_it_py", "mdurl"}


def test_the_single_file_can_be_started_as_it_is(built: Built) -> None:
    assert built.archive.read_bytes().startswith(b"#!/usr/bin/env python3\n")
    assert built.archive.stat().st_mode & 0o111
