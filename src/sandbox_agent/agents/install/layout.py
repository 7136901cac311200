"""The paths of installed agents below the data directory.

<data>/bin/NAME                          the vendor's own program (a link into the packages)
<data>/bin/agent_processes/AGENT-acp     the launcher: an executable file, the installer's or the user's
<data>/bin/agent_processes/AGENT/BUILD/  the packages of one install; complete if it has install.json
<data>/bin/agent_processes/.AGENT.lock   locked while the agent is being installed
<data>/bin/node/BUILD/                   a Node.js that the installer fetched, if the machine's is too old
<data>/probe/sandbox-agent-probe-AGENT/  empty: the agent is asked for its models and modes in it
"""

from __future__ import annotations

import os


class InstallLayout:
    """Paths are strings: loading pathlib would add 5 ms to the start of the first agent."""

    def __init__(self, data: str | os.PathLike[str]) -> None:
        self.bin = os.path.join(data, "bin")
        self._probes = os.path.join(data, "probe")
        self.processes = os.path.join(self.bin, "agent_processes")
        self.node_builds = os.path.join(self.bin, "node")
        self.node_lock = os.path.join(self.bin, ".node.lock")

    def native_program(self, name: str) -> str:
        return os.path.join(self.bin, name)

    def launcher(self, agent_id: str) -> str:
        return os.path.join(self.processes, f"{agent_id}-acp")

    def builds(self, agent_id: str) -> str:
        return os.path.join(self.processes, agent_id)

    def lock(self, agent_id: str) -> str:
        return os.path.join(self.processes, f".{agent_id}.lock")

    def probe(self, agent_id: str) -> str:
        # Agents name folders after it in the home of their user.
        return os.path.join(self._probes, f"sandbox-agent-probe-{agent_id}")
