"""Build hook: puts the inspector page into the package when it is built.

The page is built with npm from `inspector/` when it is missing or older than its source. Without npm, or
with SANDBOX_AGENT_SKIP_PAGE=1, the package is built all the same and `/ui/` says how to get the page.
An editable install builds it only if it is missing: developers run npm themselves.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SKIP_VARIABLE = "SANDBOX_AGENT_SKIP_PAGE"
STAMP = ".source-hash"
SOURCES = ("package-lock.json", "package.json", "vite.config.ts", "index.html", "src", "public")


class PageBuildHook(BuildHookInterface[Any]):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        source = Path(self.root) / "inspector"
        page = Path(self.root) / "src" / "sandbox_agent" / "http" / "page"
        # A source distribution carries the built page instead of its source.
        if os.environ.get(SKIP_VARIABLE) == "1" or not source.is_dir():
            return
        built = (page / "index.html").exists()
        if built and (version == "editable" or _is_current(page, source)):
            return
        npm = shutil.which("npm")
        if npm is None:
            self.app.display_warning("npm was not found: the package is built without the inspector page")
            return
        self._build(npm, source, page)

    def _build(self, npm: str, source: Path, page: Path) -> None:
        install = [npm, "ci", "--no-audit", "--no-fund", "--loglevel=error"]
        try:
            for command in (install, [npm, "run", "build"]):
                subprocess.run(command, cwd=source, check=True, timeout=900)  # noqa: S603 - our own command
        except (subprocess.SubprocessError, OSError) as error:
            self.app.display_warning(f"the inspector page could not be built: {error}")
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
