"""Install packages from PyPI into a virtual environment of the agent's own.

A Python of at least the required version is searched: the one that runs this program, those on PATH, those of
pyenv. If `uv` is on PATH it is used instead, and can download a Python. A virtual environment cannot be
moved, so it is created at its final path.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from sandbox_agent.agents.install.command_runner import CommandFailed, run_command

_NEWEST_MINOR = 15
_OLDEST_MINOR = 9
_LIMIT_S = 600
_VENV_LIMIT_S = 120
_VERSION_LIMIT_S = 10.0


async def pypi_install(
    packages: Sequence[str],
    folder: Path,
    *,
    minimum: str | None,
    env: Mapping[str, str],
) -> None:
    """Put `packages` into `folder/venv`; raises `CommandFailed` with the installer's output."""
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    venv = folder / "venv"
    python = str(venv / "bin" / "python")
    # If the server runs in a virtual environment, these variables would point the installers to it.
    environment = {k: v for k, v in env.items() if k not in {"VIRTUAL_ENV", "PYTHONHOME", "PYTHONPATH"}}
    uv = shutil.which("uv", path=env.get("PATH", os.defpath))
    if uv is not None:
        create = [uv, "venv", "--quiet", "--python", f">={minimum or '3.9'}", str(venv)]
        install = [uv, "pip", "install", "--quiet", "--python", python, "--", *packages]
    else:
        create = [await find_python(minimum, env), "-m", "venv", str(venv)]
        options = ("--disable-pip-version-check", "--no-input", "--quiet", "--no-warn-script-location")
        install = [python, "-m", "pip", "install", *options, "--", *packages]
    await run_command(create, cwd=folder, env=environment, limit_s=_VENV_LIMIT_S)
    await run_command(install, cwd=folder, env=environment, limit_s=_LIMIT_S)


async def find_python(minimum: str | None, env: Mapping[str, str]) -> str:
    """The path of a Python of at least `minimum` (such as `3.12`) that can make virtual environments."""
    required = tuple(int(part) for part in (minimum or "3.9").split("."))
    for candidate in _candidates(env):
        if await _version(candidate, env) >= required:
            return candidate
    raise CommandFailed(
        f"Python {minimum or '3.9'} or newer, with its venv module, is needed and was not found on PATH. "
        "Install it, or install uv, which downloads one."
    )


def _candidates(env: Mapping[str, str]) -> Iterator[str]:
    """Pythons of this machine; older ones first, because wheels exist for them earlier."""
    yield sys.executable
    search_path = env.get("PATH", os.defpath)
    names = [f"python3.{minor}" for minor in range(_OLDEST_MINOR, _NEWEST_MINOR)]
    for name in [*names, "python3"]:
        if found := shutil.which(name, path=search_path):
            yield found
    home = Path(env.get("PYENV_ROOT") or Path(env.get("HOME", "/"), ".pyenv")) / "versions"
    yield from sorted((str(path) for path in home.glob("3.*/bin/python3")), key=_minor_version)


def _minor_version(path: str) -> int:
    found = re.search(r"/3\.(\d+)", path)
    return int(found[1]) if found else 0


async def _version(python: str, env: Mapping[str, str]) -> tuple[int, ...]:
    """Its version; (0,) if it does not run (as pyenv's shims may) or cannot create environments."""
    code = "import sys, venv, ensurepip; print('version', *sys.version_info[:3])"
    try:
        output = await run_command(
            [python, "-I", "-c", code], cwd=Path("/"), env=env, limit_s=_VERSION_LIMIT_S
        )
    except CommandFailed:
        return (0,)
    found = re.search(r"^version (\d+) (\d+) (\d+)$", output, re.MULTILINE)
    return tuple(int(part) for part in found.groups()) if found else (0,)


def with_version(package: str, version: str) -> str:
    """`name[extra]==old` or `name` as `name[extra]==version`."""
    return f"{package.partition('==')[0]}=={version}"


def version_of(package: str) -> str | None:
    """The version of `name==version`."""
    return package.partition("==")[2] or None


def program_of(root: Path, package: str) -> Path:
    """The console script of an installed package, which must have the package's name."""
    name = package.partition("==")[0].partition("[")[0]
    program = root / "venv" / "bin" / name
    if not program.exists():
        raise CommandFailed(f"{package} has no program named {name}")
    return program
