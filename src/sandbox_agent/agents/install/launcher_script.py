"""The launcher: a small shell script that starts an installed agent, readable and runnable by hand.

Written at the end of an install, in one rename, so it is also the mark that an install is complete.
People may put a script of their own in its place; only ours carries the `sandbox-agent build:` line.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

_MARK = "# sandbox-agent build: "
MANIFEST = "install.json"


class Build:
    """A complete install: the folder of the packages and what was written down about them."""

    __slots__ = ("folder", "native_version", "source", "version")

    def __init__(
        self, folder: str, version: str | None, source: str, native_version: str | None = None
    ) -> None:
        self.folder = folder
        self.version = version
        self.source = source
        self.native_version = native_version
        """Of the vendor's program, if it is a package of its own."""

    @property
    def root(self) -> Path:
        from pathlib import Path  # for those who install: starting an agent does without

        return Path(self.folder)


def launcher_text(
    argv: Sequence[str],
    *,
    build: Path,
    default_env: Mapping[str, str],
    env: Mapping[str, str],
    path_entries: Sequence[str] = (),
) -> str:
    """The script; `default_env` gives way to the caller's environment, `env` does not."""
    # Imported here: reading launchers, which every first agent needs, does without.
    import shlex

    lines = ["#!/usr/bin/env sh", f"{_MARK}{build}", "set -e"]
    lines += [
        f'[ -n "${{{key}+x}}" ] || export {key}={shlex.quote(value)}' for key, value in default_env.items()
    ]
    lines += [f"export {key}={shlex.quote(value)}" for key, value in env.items()]
    if path_entries:
        lines.append(f'export PATH={shlex.quote(":".join(path_entries))}:"$PATH"')
    lines.append(f'exec {shlex.join(argv)} "$@"')
    return "\n".join(lines) + "\n"


def write_executable(path: Path, text: str) -> None:
    """Write `text` to an executable file in one step: readers see the old file or the new one."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.write_text(text, "utf-8")
    temporary.chmod(0o755)
    os.replace(temporary, path)


def write_manifest(build: Path, document: Mapping[str, Any]) -> None:
    import json

    temporary = build / f".{MANIFEST}.new"
    temporary.write_text(json.dumps(document, indent=2) + "\n", "utf-8")
    os.replace(temporary, build / MANIFEST)


def read_build(launcher: str | Path) -> Build | None:
    """The install behind a launcher of ours; None for somebody else's script.

    Raises `FileNotFoundError` if the launcher is ours and its packages are gone.
    """
    try:
        with open(launcher, "rb") as file:
            head = file.read(4096).decode("utf-8", "replace")
    except FileNotFoundError:
        raise
    except OSError:
        return None
    mark = next((line for line in head.splitlines() if line.startswith(_MARK)), None)
    if mark is None:
        return None
    folder = mark.removeprefix(_MARK)
    with open(os.path.join(folder, MANIFEST), encoding="utf-8") as manifest:
        document = json.load(manifest)
    source, native_version = document.get("source", "fallback"), document.get("nativeVersion")
    return Build(folder, document.get("version"), source, native_version)
