"""The launcher: a small shell script that starts an installed agent, readable and runnable by hand.

It is renamed into place at the end of an install, so its presence means that the install is complete.
Users may put a script of their own in its place; only the installer's has the `sandbox-agent build:` line.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox_agent.agents.install.installed_build import BUILD_MARK, MANIFEST


def launcher_text(
    argv: Sequence[str],
    *,
    build: Path,
    default_env: Mapping[str, str],
    env: Mapping[str, str],
    path_entries: Sequence[str] = (),
) -> str:
    """The script; the caller's environment overrides `default_env`, but not `env`."""
    lines = ["#!/usr/bin/env sh", f"{BUILD_MARK}{build}", "set -e"]
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
    _replace(path, text, 0o755)


def write_manifest(build: Path, document: Mapping[str, Any]) -> None:
    _replace(build / MANIFEST, json.dumps(document, indent=2) + "\n", 0o644)


def _replace(path: Path, text: str, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.new")
    temporary.write_text(text, "utf-8")
    temporary.chmod(mode)
    os.replace(temporary, path)
