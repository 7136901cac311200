"""Build hook: builds the inspector page into the package.

The page is built with npm from `inspector/` when it is missing or when its source or the version of the
package has changed. Without npm, or with SANDBOX_AGENT_SKIP_PAGE=1, the package is built without the page,
and `/ui/` explains how to get it. An editable install builds the page only if it is missing. Run as a
program, the hook builds the page in a checkout.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

SKIP_VARIABLE = "SANDBOX_AGENT_SKIP_PAGE"
STAMP = ".source-hash"
# What the build reads, below `inspector/`; everything else there is for tests and checks.
SOURCES = (
    "package-lock.json",
    "package.json",
    "vite.config.ts",
    "vite.replay.config.ts",
    "index.html",
    "replay.html",
    "rollouts.html",
    "src",
    "public",
    "../src/sandbox_agent/sdk/session/config/mcp_launcher.py",
)

Warn = Callable[[str], None]


def build_page(root: Path, warn: Warn, *, only_if_missing: bool = False) -> None:
    """Build the page unless it is up to date."""
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
        warn("npm was not found: the package has no inspector page")
        return
    install = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
    try:
        for command in (install, [npm, "run", "--silent", "build"]):
            subprocess.run(command, cwd=source, check=True, timeout=900)  # noqa: S603 - a fixed command
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
    project = tomllib.loads((source.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    digest = hashlib.sha256(project["version"].encode())
    for name in SOURCES:
        entry = source / name
        files = sorted(path for path in entry.rglob("*") if path.is_file()) if entry.is_dir() else [entry]
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
