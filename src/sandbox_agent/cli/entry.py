"""The `sandbox-agent` command: the quick way to `server`, `mock-agent` and `adapter`, click for the rest."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_WITH_VALUE = ("-t", "--token")
_WITHOUT_VALUE = ("-n", "--no-token")


def main(arguments: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return _run(words)
    except BrokenPipeError:
        # Whoever read our output has seen enough, as `| head` does.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _run(words: list[str]) -> int:
    command, before, after = _split(words)
    if command == "server":
        from sandbox_agent.cli.server.command import run as run_server

        return run_server([*before, *after])
    if command in ("mock-agent", "mock-agent-process") and not {"-h", "--help"}.intersection(after):
        from sandbox_agent.agents.mock.entry import main as mock

        return mock()
    if command == "adapter":
        from sandbox_agent.cli import adapter

        return adapter.run(after)
    from sandbox_agent.cli.commands import run

    return run(["mock-agent", *after] if command == "mock-agent-process" else words)


def _split(words: list[str]) -> tuple[str | None, list[str], list[str]]:
    """The command, the global flags before it and everything after it."""
    index = 0
    while index < len(words):
        word = words[index]
        if word in _WITH_VALUE:
            index += 2
        elif word in _WITHOUT_VALUE or word.startswith("--token="):
            index += 1
        else:
            break
    command = words[index] if index < len(words) else None
    return command, words[:index], words[index + 1 :]
