"""Build hook: puts the inspector page into the package when it is built.

The page is built with npm from `inspector/` when it is missing or older than its source. Without npm, or
with SANDBOX_AGENT_SKIP_PAGE=1, the package is built all the same and `/ui/` says how to get the page.
An editable install builds it only if it is missing. Run as a program it does the same in a checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SKIP_VARIABLE = "SANDBOX_AGENT_SKIP_PAGE"
STAMP = ".source-hash"
SOURCES = ("package-lock.json", "package.json", "vite.config.ts", "index.html", "src", "public")


Warn = Callable[[str], None]


def build_page(root: Path, warn: Warn, *, only_if_missing: bool = False) -> None:
    """Build the page unless the one that is there is current."""
    source = root / "inspector"
    page = root / "src" / "sandbox_agent" / "page"
    # A source distribution carries the built page instead of its source.
    if os.environ.get(SKIP_VARIABLE) == "1" or not source.is_dir():
        return
    built = (page / "index.html").exists()
    if built and (only_if_missing or _is_current(page, source)):
        return
    npm = shutil.which("npm")
    if npm is None:
        warn("npm was not found: there will be no inspector page")
        return
    install = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        for command in (install, [npm, "run", "--silent", "build"]):
            subprocess.run(command, cwd=source, check=True, timeout=900)  # noqa: S603 - our own command
    except (subprocess.SubprocessError, OSError) as error:
        warn(f"the inspector page could not be built: {error}")
        return
    (page / STAMP).write_text(_source_hash(source), encoding="ascii")


def _is_current(page: Path, source: Path) -> bool:
    try:
        return (page / STAMP).read_text(encoding="ascii") == _source_hash(source)
    except OSError:
        return False


def _source_hash(source: Path) -> str:
    digest = hashlib.sha256()
    for name in SOURCES:
        place = source / name
        files = sorted(path for path in place.rglob("*") if path.is_file()) if place.is_dir() else [place]
        for path in files:
            digest.update(f"{path.relative_to(source)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    build_page(Path(__file__).parent, lambda text: print(text, file=sys.stderr))
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface

    class PageBuildHook(BuildHookInterface[Any]):
        PLUGIN_NAME = "custom"

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            build_page(Path(self.root), self.app.display_warning, only_if_missing=version == "editable")
