"""The entry point: runs the agent on stdin and stdout and returns the exit code.

The end of the input is the normal end (0), and so is a client that stopped reading.
"""

from __future__ import annotations

from sandbox_agent.agents.mock.jsonrpc_lines import LineInput, LineOutput
from sandbox_agent.agents.mock.mock_agent import MockAgent

INTERRUPTED = 130  # as shells report a program that was ended by Ctrl-C


def main() -> int:
    """Serve ACP on stdin and stdout until the input ends; return the exit code."""
    try:
        return MockAgent(LineInput(0), LineOutput(1)).run()
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
