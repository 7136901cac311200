"""The unit tests and types of the page, its lock file, and what its build produces."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
INSPECTOR = ROOT / "inspector"
PAGE = ROOT / "src" / "sandbox_agent" / "page"
MAX_ENTRY_BYTES = 160_000


@pytest.mark.clause(
    "decision-34-in-the-inspector", "decision-35-in-the-inspector", "inspector-universal-agrees"
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


def entry_chunks() -> list[str]:
    """The entry, and the chunks that the document loads with it."""
    index = (PAGE / "index.html").read_text(encoding="utf-8")
    entries = re.findall(r'<script type="module"[^>]* src="/ui/(assets/[^"]+\.js)"', index)
    assert len(entries) == 1
    preloaded = re.findall(r'<link rel="modulepreload"[^>]* href="/ui/(assets/[^"]+\.js)"', index)
    assert len(preloaded) == index.count("modulepreload")
    return [(PAGE / name).read_text(encoding="utf-8") for name in (*entries, *preloaded)]


def test_the_entry_is_small_because_the_rest_is_loaded_when_needed() -> None:
    sizes = [len(gzip.compress(chunk.encode(), compresslevel=6)) for chunk in entry_chunks()]
    assert sum(sizes) < MAX_ENTRY_BYTES


def test_the_page_has_the_version_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in json.loads((INSPECTOR / "package.json").read_text())
    assert re.search(rf'version:[`"]{re.escape(project["version"])}[`"]', "".join(entry_chunks()))
