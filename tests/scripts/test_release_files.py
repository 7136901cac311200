"""The files that a release changes."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest
from scripts.distribution import release_files

ROOT = Path(__file__).resolve().parents[2]

DAY = datetime.date(2030, 1, 2)
CHANGELOG = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.1.0 (2029-01-01)\n\n- Old.\n"


def test_only_the_version_of_the_project_changes() -> None:
    text = '[project]\nname = "x"\nversion = "0.1.0"\n[tool]\nversion = "9"\n'
    assert release_files.set_version(text, "0.2.0") == text.replace("0.1.0", "0.2.0")


def test_the_projects_own_files_fit() -> None:
    assert 'version = "7.8.9"' in release_files.set_version((ROOT / "pyproject.toml").read_text(), "7.8.9")
    closed = release_files.close_section((ROOT / "CHANGELOG.md").read_text(), "7.8.9", DAY)
    assert release_files.section(closed, "7.8.9")


def test_the_unreleased_section_gets_name_and_date_and_an_empty_one_takes_its_place() -> None:
    closed = release_files.close_section(CHANGELOG, "0.2.0", DAY)
    assert "## Unreleased\n\n## 0.2.0 (2030-01-02)\n\n- New.\n" in closed
    assert release_files.section(closed, "0.2.0") == "- New.\n"
    assert release_files.section(closed, "0.1.0") == "- Old.\n"


def test_a_release_without_notes_is_refused() -> None:
    empty = "# Changelog\n\n## Unreleased\n\n## 0.1.0 (2029-01-01)\n\n- Old.\n"
    with pytest.raises(ValueError, match="no section"):
        release_files.section(release_files.close_section(empty, "0.2.0", DAY), "0.2.0")
    with pytest.raises(ValueError, match="Unreleased"):
        release_files.close_section("# Changelog\n", "0.2.0", DAY)
