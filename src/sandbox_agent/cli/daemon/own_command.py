"""The command that starts this program again as a separate process."""

from __future__ import annotations

import os
import sys

from sandbox_agent.runtime.server_executable import server_executable


def own_command() -> list[str]:
    """The arguments that start `sandbox-agent` as it was started now."""
    script = server_executable()
    if script and os.access(script, os.X_OK):
        return [script]
    if script.endswith(".pyz"):
        return [sys.executable, script]
    return [sys.executable, "-m", "sandbox_agent"]
