"""The `sandbox-agent` command.

`server`, `mock-agent`, `mcp-relay` and `adapter` start without click, because they run inside sandboxes where
start-up time and memory count; `command_tree.py` has all other commands.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

_WITH_VALUE = ("-t", "--token")
_WITHOUT_VALUE = ("-n", "--no-token")


def main(arguments: Sequence[str] | None = None) -> int:
    try:
        return _run(list(sys.argv[1:] if arguments is None else arguments))
    except BrokenPipeError:
        # The reader closed the pipe, as `| head` does. Python would report the error again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(arguments: list[str]) -> int:
    command, global_options, rest = _split(arguments)
    if command == "server":
        from sandbox_agent.cli.server.server_command import run as run_server

        return run_server([*global_options, *rest])
    if command in ("mock-agent", "mock-agent-process") and not {"-h", "--help"}.intersection(rest):
        from sandbox_agent.agents.mock.main import main as run_mock_agent

        return run_mock_agent()
    if command == "mcp-relay" and not {"-h", "--help"}.intersection(rest):
        from sandbox_agent.cli.mcp_relay import main as run_relay

        return run_relay()
    if command == "adapter":
        from sandbox_agent.agents.adapters.main import main as run_adapter

        return run_adapter(rest)
    from sandbox_agent.cli.command_tree import run

    return run(["mock-agent", *rest] if command == "mock-agent-process" else arguments)


def _split(arguments: list[str]) -> tuple[str | None, list[str], list[str]]:
    """The command, the global options before it and everything after it."""
    index = 0
    while index < len(arguments):
        argument = arguments[index]
        if argument in _WITH_VALUE:
            index += 2
        elif argument in _WITHOUT_VALUE or argument.startswith("--token="):
            index += 1
        else:
            break
    command = arguments[index] if index < len(arguments) else None
    return command, arguments[:index], arguments[index + 1 :]
