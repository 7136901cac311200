"""Where things of the agents lie below the data directory.

<data>/bin/NAME                          the vendor's own program (a link into the packages)
<data>/bin/agent_processes/AGENT-acp     the launcher: an executable file, ours or the user's
<data>/bin/agent_processes/AGENT/BUILD/  the packages of one install; complete if it has install.json
<data>/bin/agent_processes/.AGENT.lock   held while somebody installs the agent
<data>/bin/node/BUILD/                   a Node of our own, if the machine's is too old
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from sandbox_agent import settings

if TYPE_CHECKING:
    from pathlib import Path


class Layout:
    """Names of files for those who start agents, paths for those who install them: pathlib loads slowly."""

    def __init__(self, data: str | Path) -> None:
        self.data = data
        self._bin = os.path.join(data, "bin")

    def launcher_file(self, agent_id: str) -> str:
        return os.path.join(self._bin, "agent_processes", f"{agent_id}-acp")

    def native_file(self, name: str) -> str:
        return os.path.join(self._bin, name)

    @property
    def bin(self) -> Path:
        from pathlib import Path

        return Path(self._bin)

    @property
    def processes(self) -> Path:
        return self.bin / "agent_processes"

    def launcher(self, agent_id: str) -> Path:
        from pathlib import Path

        return Path(self.launcher_file(agent_id))

    def builds(self, agent_id: str) -> Path:
        return self.processes / agent_id

    def lock(self, agent_id: str) -> Path:
        return self.processes / f".{agent_id}.lock"

    @property
    def node_builds(self) -> Path:
        return self.bin / "node"

    @property
    def node_lock(self) -> Path:
        return self.bin / ".node.lock"


def default_data_directory() -> Path:
    """`$XDG_DATA_HOME/sandbox-agent`, by default `~/.local/share/sandbox-agent`."""
    from pathlib import Path

    return Path(settings.default_data_directory())


def npm_platform() -> str:
    """This machine in npm's words, such as `linux-x64` or `darwin-arm64`."""
    return f"{sys.platform}-{'arm64' if _is_arm() else 'x64'}"


def registry_platform() -> str:
    """This machine in the ACP registry's words, such as `linux-x86_64` or `darwin-aarch64`."""
    return f"{sys.platform}-{'aarch64' if _is_arm() else 'x86_64'}"


def _is_arm() -> bool:
    return os.uname().machine.lower() in {"arm64", "aarch64"}
