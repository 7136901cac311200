"""The `sandbox-agent` command: its path, and the arguments that start it."""

from __future__ import annotations

import os
import sys


def server_executable() -> str:
    """The command in SANDBOX_AGENT_BIN for agents: the one that started this program."""
    script = os.path.abspath(sys.argv[0]) if sys.argv and sys.argv[0] else ""
    if os.path.basename(script) == "sandbox-agent" or script.endswith(".pyz"):
        return script
    beside = os.path.join(os.path.dirname(sys.executable), "sandbox-agent")
    return beside if os.path.exists(beside) else script


def server_command() -> list[str]:
    """The arguments that start `sandbox-agent` as it was started now."""
    script = server_executable()
    if script and os.access(script, os.X_OK):
        return [script]
    if script.endswith(".pyz"):
        return [sys.executable, script]
    return [sys.executable, "-m", "sandbox_agent"]
