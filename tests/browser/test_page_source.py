"""The page's own tests and types, run as its developers run them, and its build without the page's tools."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

INSPECTOR = Path(__file__).parents[2] / "inspector"


@pytest.mark.clause(
    "decision-34-in-the-inspector", "decision-35-in-the-inspector", "inspector-7-universal-agrees"
)
@pytest.mark.parametrize("script", ["test", "check"])
def test_the_unit_tests_and_the_types_of_the_page_pass(script: str) -> None:
    npm = shutil.which("npm")
    assert npm, "these tests need Node 20 or newer"
    done = subprocess.run([npm, "run", script], cwd=INSPECTOR, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


def test_the_lock_file_names_versions_but_no_registry() -> None:
    packages = json.loads((INSPECTOR / "package-lock.json").read_text())["packages"]
    assert all(
        package.get("version") and package.get("integrity") for name, package in packages.items() if name
    )
    assert not any("resolved" in package for package in packages.values())
