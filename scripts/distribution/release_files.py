"""Set the version in pyproject.toml and read or close the section of a release in CHANGELOG.md.

python scripts/distribution/release_files.py VERSION           set the version, close the section "Unreleased"
python scripts/distribution/release_files.py VERSION --notes   print the section of this version
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNRELEASED = "## Unreleased\n"


def set_version(text: str, version: str) -> str:
    """`text` is pyproject.toml."""
    changed, count = re.subn(r'^version = ".*"$', f'version = "{version}"', text, count=1, flags=re.M)
    if count != 1:
        raise ValueError("pyproject.toml has no line with the version")
    return changed


def close_section(text: str, version: str, day: datetime.date) -> str:
    """Rename the section "Unreleased" of CHANGELOG.md to `version` and put an empty one above it."""
    if text.count(UNRELEASED) != 1:
        raise ValueError('CHANGELOG.md needs exactly one section "Unreleased"')
    return text.replace(UNRELEASED, f"{UNRELEASED}\n## {version} ({day.isoformat()})\n")


def section(text: str, version: str) -> str:
    """What CHANGELOG.md says about `version`."""
    found = re.search(rf"^## {re.escape(version)}\b.*?\n(.*?)(?=^## |\Z)", text, flags=re.M | re.S)
    if found is None or not found[1].strip():
        raise ValueError(f"CHANGELOG.md has no section about {version}, or an empty one")
    return found[1].strip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("version")
    parser.add_argument("--notes", action="store_true")
    arguments = parser.parse_args()
    project, changelog = ROOT / "pyproject.toml", ROOT / "CHANGELOG.md"
    try:
        if arguments.notes:
            print(section(changelog.read_text("utf-8"), arguments.version), end="")
            return 0
        new_project = set_version(project.read_text("utf-8"), arguments.version)
        today = datetime.datetime.now(datetime.UTC).date()
        new_changelog = close_section(changelog.read_text("utf-8"), arguments.version, today)
        section(new_changelog, arguments.version)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    project.write_text(new_project, "utf-8")
    changelog.write_text(new_changelog, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
