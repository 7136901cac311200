"""Our server as users get it: a wheel of this checkout, installed with compiled bytecode.

The wheel goes into a virtual environment of its own under `.cache/bench-venv`, so nothing of the
development environment (editable installs, test tools) is measured by mistake.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from bench.places import CACHE, ROOT


def install_ours(base: str = sys.executable) -> Path:
    """The `sandbox-agent` command of a fresh install of this checkout, for the Python `base`."""
    path = shutil.which(base)
    if path is None:
        raise SystemExit(f"there is no Python at {base}")
    # One environment for each Python; the checkout's own has the plain name.
    home = CACHE / ("bench-venv" if base == sys.executable else f"bench-venv-{zlib.crc32(path.encode()):08x}")
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([base, "-m", "venv", str(home)], check=True, timeout=120)
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


def python_version(command: Path) -> str:
    """The version of the Python that a command is installed for."""
    python = command.parent / "python"
    if not python.exists():
        return "of unknown version"
    asked = [str(python), "-c", "import platform; print(platform.python_version())"]
    return subprocess.run(asked, check=True, timeout=30, capture_output=True, text=True).stdout.strip()


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
