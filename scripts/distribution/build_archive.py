"""Build `sandbox-agent.pyz`: a zip of wheels and a small program that unpacks the matching ones.

The zip holds the wheel of the package and its dependencies for this machine, for this Python version and for
every version named with `--python`. Python cannot import compiled modules from a zip, so the program
(`single_file/__main__.py`) unpacks the wheels into a cache directory at its first start.
"""

from __future__ import annotations

import argparse
import hashlib
import platform
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(__file__).resolve().with_name("single_file") / "__main__.py"


def download(wheel: Path, directory: Path, python: str | None) -> None:
    """Download the dependencies of `wheel` as wheels, for this Python version or for `python`."""
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    words += ["--only-binary=:all:", "--constraint", str(ROOT / "constraints.txt"), "--dest", str(directory)]
    if python is not None:
        tag = f"manylinux2014_{platform.machine()}"
        words += ["--python-version", python, "--implementation", "cp", "--platform", tag]
        words += ["--platform", tag.replace("2014", "_2_28")]
    subprocess.run([*words, str(wheel)], check=True)  # noqa: S603 - our own interpreter


def write_archive(wheels: list[Path], target: Path) -> None:
    digest = hashlib.sha256(PROGRAM.read_bytes())
    for wheel in wheels:
        digest.update(wheel.name.encode() + wheel.read_bytes())
    with target.open("wb") as file:
        file.write(b"#!/usr/bin/env python3\n")
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.write(PROGRAM, "__main__.py")
            archive.writestr("identity", digest.hexdigest()[:20])
            for wheel in wheels:
                archive.write(wheel, f"wheels/{wheel.name}")
    target.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--python", action="append", default=[], help="add this Python version, such as 3.12")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        for python in (None, *arguments.python):
            download(arguments.wheel, Path(directory), python)
        write_archive(sorted(Path(directory).glob("*.whl")), arguments.target)


if __name__ == "__main__":
    main()
