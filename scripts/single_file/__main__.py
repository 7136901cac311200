"""First thing that runs in `sandbox-agent.pyz`: unpacks the archive once, then becomes the real program.

Needs nothing but a Python. Unpacking goes to a directory of its own which is renamed into place, so two
first starts at the same time do no harm and a start that was killed leaves nothing that looks complete.
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
    # Whatever starts this program again, the SDK and agents among others, finds the unpacked one.
    os.environ.setdefault("SANDBOX_AGENT_BIN", launcher)
    sys.path[0] = site
    sys.argv[0] = launcher
    from sandbox_agent.cli.entry import main as program

    sys.exit(program())


def find_home(name: str) -> str:
    """Where the archive is or will be unpacked: the user's cache, or a private temporary directory."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    for base in (os.path.join(cache, "sandbox-agent"), _temporary_base()):
        try:
            os.makedirs(base, mode=0o700, exist_ok=True)
        except OSError:
            continue
        # Code is run from here: a directory that somebody else made or may write to will not do.
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
            if not os.path.exists(home):  # else somebody was quicker, which is as good
                raise
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def fits(wheel: str) -> bool:
    """Whether a wheel is for this Python and machine, by its name."""
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
    """An executable file that starts the unpacked program; sh first, because a `#!` line has its limits."""
    text = f"""#!/bin/sh
'''exec' {shlex.quote(sys.executable)} "$0" "$@"
' '''
import sys

sys.path[0] = {site!r}
from sandbox_agent.cli.entry import main

sys.exit(main())
"""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)  # noqa: S103 - a program, below a directory that is its owner's alone


main()
