"""A complete install of an agent, read from its launcher and its manifest."""

import os
from typing import NamedTuple

BUILD_MARK = "# sandbox-agent build: "
"""The line of our launchers that names the folder of the packages; a user's own script does not have it."""
MANIFEST = "install.json"


class InstalledBuild(NamedTuple):
    root: str
    """The folder of the packages."""
    version: str | None
    source: str
    native_version: str | None = None
    """Of the vendor's program, if it is a package of its own."""


def read_build(launcher: str) -> InstalledBuild | None:
    """The install behind a launcher that the installer wrote; None for a script of the user's own.

    Raises `FileNotFoundError` if there is no launcher, or if it is such a launcher without its packages.
    """
    try:
        with open(launcher, "rb") as file:
            head = file.read(4096).decode("utf-8", "replace")
    except FileNotFoundError:
        raise
    except OSError:
        return None
    mark = next((line for line in head.splitlines() if line.startswith(BUILD_MARK)), None)
    if mark is None:
        return None
    import json  # a user's own script has no manifest

    root = mark.removeprefix(BUILD_MARK)
    with open(os.path.join(root, MANIFEST), encoding="utf-8") as manifest:
        document = json.load(manifest)
    source, native_version = document.get("source", "fallback"), document.get("nativeVersion")
    return InstalledBuild(root, document.get("version"), source, native_version)
