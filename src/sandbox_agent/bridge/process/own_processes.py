"""What this process has started in other sessions beside its agents: watchdogs, installs, first starts.

`RunningTrees` does not take them for processes that an agent has left behind.
"""

from __future__ import annotations

pids: set[int] = set()
server_tags: set[int] = set()
"""The server tags of trees, each with any number of processes."""
