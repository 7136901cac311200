"""Find the native program behind npm's `codex`, a Node.js script that starts it and stays its parent.

The native program is started directly, with the tools of its package on PATH: one process less, and killing
it leaves no parent process.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path


def native_program(program: str, environ: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """The program to start and its environment; anything but npm's script is used unchanged."""
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
