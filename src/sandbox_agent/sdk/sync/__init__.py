"""The synchronous face of the SDK: the same surface, for code without an event loop.

Every object here holds its asynchronous twin and runs it on one background loop per client, so both
faces behave alike and the sync one also works inside a running loop (Jupyter) and in many threads.
All methods are thread-safe.
"""

from __future__ import annotations

from sandbox_agent.sdk.sync.acp_client import AcpClient
from sandbox_agent.sdk.sync.client import SandboxAgent
from sandbox_agent.sdk.sync.session import Session
from sandbox_agent.sdk.sync.turn import Turn

__all__ = ["AcpClient", "SandboxAgent", "Session", "Turn"]
