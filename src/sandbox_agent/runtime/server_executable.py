"""The path of the `sandbox-agent` command."""

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
