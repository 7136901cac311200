"""The way in: connects the agent to stdin and stdout and turns its end into an exit code.

End of input is the normal end (0). A client that stopped reading is a normal end too: there is nobody
left to tell.
"""

from __future__ import annotations

from sandbox_agent.agents.mock.agent import Agent
from sandbox_agent.agents.mock.jsonrpc import LineInput, Output

INTERRUPTED = 130  # what shells report for a program that Ctrl-C ended


def main() -> int:
    """Serve ACP on stdin and stdout until the input ends; return the exit code."""
    try:
        return Agent(LineInput(0), Output(1)).run()
    except BrokenPipeError:
        return 0
    except KeyboardInterrupt:
        return INTERRUPTED
