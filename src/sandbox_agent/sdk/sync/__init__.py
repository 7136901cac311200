"""The synchronous side of the SDK: the same surface, for code without an event loop.

Every object holds its asynchronous counterpart and runs it on one background loop per client. It can be
used from many threads, and inside a running loop (Jupyter). `scripts/sync-sdk` generates the modules from
the asynchronous classes; `portal.py` and `portal_client.py` are written by hand.
"""

from __future__ import annotations

from sandbox_agent.sdk.sync.client.client import SandboxAgent
from sandbox_agent.sdk.sync.resources.acp_client import AcpClient
from sandbox_agent.sdk.sync.resources.processes.process import Process
from sandbox_agent.sdk.sync.resources.processes.terminals import Terminal
from sandbox_agent.sdk.sync.session.session import Session
from sandbox_agent.sdk.sync.session.turns.turn import Turn

__all__ = ["AcpClient", "Process", "SandboxAgent", "Session", "Terminal", "Turn"]
