"""Our server as users get it: a wheel of this checkout, installed with compiled bytecode.

The wheel goes into a virtual environment of its own under `.cache/bench-venv`, so nothing of the
development environment (editable installs, test tools) is measured by mistake.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from bench.places import CACHE, ROOT


def install_ours() -> Path:
    """The `sandbox-agent` command of a fresh install of this checkout."""
    home = CACHE / "bench-venv"
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, timeout=120)
    with tempfile.TemporaryDirectory(prefix="bench-wheel-") as room:
        # As `scripts/run` does: the commands that an older pip writes load `re` before anything of ours.
        _pip(python, "install", "pip>=25.2")
        _pip(python, "wheel", "--no-deps", "--wheel-dir", room, str(ROOT))
        (wheel,) = Path(room).glob("*.whl")
        # Two steps: dependencies once, the package itself anew at each run though its version stays.
        _pip(python, "install", "--compile", str(wheel))
        _pip(python, "install", "--compile", "--force-reinstall", "--no-deps", str(wheel))
    command = home / "bin" / "sandbox-agent"
    if not command.exists():
        raise SystemExit(f"the wheel installs no {command.name} command")
    return command


def chart_python() -> Path:
    """A Python that has matplotlib, kept apart from everything that is measured."""
    home = CACHE / "bench-chart-venv"
    python = home / "bin" / "python"
    if not (home / "ready").exists():
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True, timeout=120)
        _pip(python, "install", "matplotlib")
        (home / "ready").touch()
    return python


def _pip(python: Path, *arguments: str) -> None:
    subprocess.run(
        [str(python), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments],
        check=True,
        timeout=300,
    )
