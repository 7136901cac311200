"""The program behind `codex`: npm's is a script for Node that starts the real one and stays beside it.

The real one is taken directly, with the tools it brings along on PATH: one process less, and nothing left
in between when it has to be ended.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def real_program(program: str, environ: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The program to start and its environment; anything but npm's script is taken as it is."""
    script = Path(program).resolve()
    environment = dict(environ)
    if script.suffix != ".js":
        return program, environment
    packages = script.parents[2]
    for binary in sorted(packages.glob("codex-*/vendor/*/bin/codex")):
        tools = binary.parents[1] / "codex-path"
        if tools.is_dir():
            environment["PATH"] = f"{tools}{os.pathsep}{environment.get('PATH', os.defpath)}"
        return str(binary), environment
    return program, environment
