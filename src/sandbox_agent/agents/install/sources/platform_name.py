"""This machine's operating system and processor, as npm and the ACP registry spell them."""

from __future__ import annotations

import os
import sys


def npm_platform() -> str:
    """Such as `linux-x64` or `darwin-arm64`."""
    return f"{sys.platform}-{'arm64' if _is_arm() else 'x64'}"


def registry_platform() -> str:
    """Such as `linux-x86_64` or `darwin-aarch64`."""
    return f"{sys.platform}-{'aarch64' if _is_arm() else 'x86_64'}"


def _is_arm() -> bool:
    return os.uname().machine.lower() in {"arm64", "aarch64"}
