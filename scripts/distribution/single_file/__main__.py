"""Entry point of `sandbox-agent.pyz`: unpack the archive once, then run the program.

Needs only Python. The archive is unpacked into a temporary directory that is then renamed, so two first
starts at the same time are safe, and a start that was killed never leaves a directory that looks complete.
"""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import stat
import sys
import tempfile
import zipfile

ARCHIVE = os.path.abspath(sys.path[0])
OLDEST = (3, 11)


def main() -> None:
    if sys.version_info < OLDEST:
        sys.exit(f"sandbox-agent: this is Python {sys.version.split()[0]}, 3.{OLDEST[1]} or newer is needed")
    with zipfile.ZipFile(ARCHIVE) as archive:
        name = f"{archive.read('identity').decode()}-{sys.implementation.cache_tag}-{platform.machine()}"
        home = find_home(name)
        if not os.path.exists(home):
            unpack(archive, home)
    site, launcher = os.path.join(home, "site"), os.path.join(home, "bin", "sandbox-agent")
    # The SDK and agents start this program again; they use the unpacked one.
    os.environ.setdefault("SANDBOX_AGENT_BIN", launcher)
    sys.path[0] = site
    sys.argv[0] = launcher
    from sandbox_agent.cli.main import main as program

    sys.exit(program())


def find_home(name: str) -> str:
    """The directory of the unpacked archive: in the user's cache, or in a private temporary directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for base in (os.path.join(cache, "sandbox-agent"), _temporary_base()):
        try:
            os.makedirs(base, mode=0o700, exist_ok=True)
        except OSError:
            continue
        # Code runs from here, so no other user may own the directory or write to it.
        facts = os.lstat(base)
        private = stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.getuid() and not facts.st_mode & 0o022
        if private and os.access(base, os.W_OK):
            return os.path.join(base, name)
    sys.exit("sandbox-agent: no directory to unpack into; set XDG_CACHE_HOME to one that can be written")


def _temporary_base() -> str:
    return os.path.join(tempfile.gettempdir(), f"sandbox-agent-{os.getuid()}")


def unpack(archive: zipfile.ZipFile, home: str) -> None:
    staging = tempfile.mkdtemp(prefix=".unpacking-", dir=os.path.dirname(home))
    try:
        site = os.path.join(staging, "site")
        for name in archive.namelist():
            if name.startswith("wheels/") and fits(os.path.basename(name)):
                with archive.open(name) as stored, zipfile.ZipFile(stored) as wheel:
                    wheel.extractall(site)
        os.mkdir(os.path.join(staging, "bin"))
        write_launcher(os.path.join(staging, "bin", "sandbox-agent"), os.path.join(home, "site"))
        if not os.path.exists(os.path.join(site, "msgspec")):
            machine = f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.machine()}"
            sys.exit(f"sandbox-agent: this archive was not built for {machine}")
        try:
            os.rename(staging, home)
        except OSError:
            if not os.path.exists(home):  # otherwise another start was faster, and its copy is the same
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def fits(wheel: str) -> bool:
    """Whether the name of a wheel matches this Python version and machine."""
    python, abi, system = wheel.removesuffix(".whl").split("-")[-3:]
    if system != "any":
        libc = "manylinux" if platform.libc_ver()[0] == "glibc" else "musllinux"
        if sys.platform == "linux" and libc not in system:
            return False
        if platform.machine() not in system:
            return False
    this = f"cp{sys.version_info.major}{sys.version_info.minor}"
    if abi == "abi3":
        return any(
            tag.startswith("cp3") and int(tag[3:]) <= sys.version_info.minor for tag in python.split(".")
        )
    return "py3" in python.split(".") or this in python.split(".")


def write_launcher(path: str, site: str) -> None:
    """Write an executable that starts the program, by way of sh because a `#!` line has a length limit."""
    text = f"""#!/bin/sh
'''exec' {shlex.quote(sys.executable)} "$0" "$@"
' '''
import sys

sys.path[0] = {site!r}
from sandbox_agent.cli.main import main

sys.exit(main())
"""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)  # noqa: S103 - a program, in a directory that only its owner can write


main()
