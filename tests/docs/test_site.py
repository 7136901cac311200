"""The documentation builds as a site, without a warning, with every page in its navigation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from scripts.docs_pages.site_navigation import index_for_language_models

from sandbox_agent.sdk import api
from tests.docs.markdown import ROOT


@pytest.mark.clause("docs-checked")
def test_the_short_index_for_language_models_is_up_to_date() -> None:
    assert (ROOT / "llms.txt").read_text() == index_for_language_models(), "run scripts/docs to renew it"


@pytest.mark.timeout(180)
@pytest.mark.clause("docs-checked")
def test_the_site_builds_strictly(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mkdocs",
            "build",
            "--strict",
            "--quiet",
            "--site-dir",
            str(tmp_path / "site"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    site = tmp_path / "site"
    home = (site / "index.html").read_text()
    for page in (ROOT / "docs").rglob("*.md"):
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        address = f"{name}/".removesuffix("index/")
        assert (site / address / "index.html").exists()
        assert not address or f'href="{address}"' in home, f"{page.name} is not in the navigation"
    reference = (site / "api-reference" / "index.html").read_text()
    missing = [name for name in api.__all__ if f'id="sandbox_agent.sdk.api.{name}"' not in reference]
    assert missing == [], "public names without an entry in the API reference"
    assert "fonts.googleapis" not in home, "the site loads nothing from elsewhere"
