"""What a test needs beyond Python: one marker each, and how to see whether this machine has it.

A marked test is skipped with the reason where its requirement is missing. CI has all of them, and fails on a
skip that tests/allowed_skips.toml does not list.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

# Users other than root often do not have the second half in their PATH.
SYSTEM_PATH = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Requirement:
    reason: str
    is_met: Callable[[], bool]


def _is_root() -> bool:
    return os.geteuid() == 0


REQUIREMENTS = {
    "root": Requirement("needs root: mounts, or processes of another user", _is_root),
    "fuse": Requirement(
        "needs root and /dev/fuse", lambda: _is_root() and os.access("/dev/fuse", os.R_OK | os.W_OK)
    ),
    "chromium": Requirement(
        "needs the Debian package chromium", lambda: shutil.which("chromium") is not None
    ),
    "firefox": Requirement(
        "needs the Debian package firefox-esr", lambda: shutil.which("firefox-esr") is not None
    ),
    "postgres": Requirement(
        "needs the Debian package postgresql",
        lambda: any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None,
    ),
    "faketime": Requirement(
        "needs the Debian package faketime", lambda: shutil.which("faketime") is not None
    ),
    "proxies": Requirement(
        "needs the Debian packages nginx, haproxy and caddy",
        lambda: all(shutil.which(name, path=SYSTEM_PATH) for name in ("nginx", "haproxy", "caddy")),
    ),
    "podman": Requirement(
        "needs root and the Debian packages podman and runc",
        lambda: _is_root() and all(shutil.which(name, path=SYSTEM_PATH) for name in ("podman", "runc")),
    ),
    "netns": Requirement(
        "needs root and the Debian package iproute2",
        lambda: _is_root() and shutil.which("ip", path=SYSTEM_PATH) is not None,
    ),
    "dockerd": Requirement(
        "needs root and the Debian package docker.io",
        lambda: _is_root() and shutil.which("dockerd", path=SYSTEM_PATH) is not None,
    ),
    "gcc": Requirement("needs a C compiler", lambda: shutil.which("gcc") is not None),
    "node": Requirement(
        "needs Node and npm", lambda: shutil.which("node") is not None and shutil.which("npm") is not None
    ),
}


@cache
def _is_met(name: str) -> bool:
    return REQUIREMENTS[name].is_met()


def skip_unmet(item: pytest.Item) -> None:
    """Skip the test if this machine lacks something that its markers name."""
    for name, requirement in REQUIREMENTS.items():
        if item.get_closest_marker(name) is not None and not _is_met(name):
            item.add_marker(pytest.mark.skip(reason=requirement.reason))
