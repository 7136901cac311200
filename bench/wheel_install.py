"""Our server as users install it: a wheel of this checkout with compiled bytecode.

The wheel is installed into a virtual environment of its own under `.cache/bench-venv`, so the development
environment (editable install, test tools) is not measured.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

from bench.paths import CACHE, ROOT


def install_ours(base: str = sys.executable) -> Path:
    """The `sandbox-agent` command of a fresh install of this checkout, for the Python `base`."""
    path = shutil.which(base)
    if path is None:
        raise SystemExit(f"no Python at {base}")
    # One environment per Python; the checkout's own has the plain name.
    home = CACHE / ("bench-venv" if base == sys.executable else f"bench-venv-{zlib.crc32(path.encode()):08x}")
    python = home / "bin" / "python"
    if not python.exists():
        subprocess.run([base, "-m", "venv", str(home)], check=True, timeout=120)
    with tempfile.TemporaryDirectory(prefix="bench-wheel-") as directory:
        # As in `scripts/run`: the command that an older pip writes loads `re` first.
        _pip(python, "install", "pip>=25.2")
        _pip(python, "wheel", "--no-deps", "--wheel-dir", directory, str(ROOT))
        (wheel,) = Path(directory).glob("*.whl")
        # Two steps: dependencies once, the package itself at each run although its version is the same.
        _pip(python, "install", "--compile", f"{wheel}[postgres]")
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
    """A Python with matplotlib, in an environment apart from what is measured."""
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
