"""`sandbox-agent adapter NAME`: one of our own ACP agents around a vendor's program, on stdin and stdout."""

from __future__ import annotations

from collections.abc import Sequence


def run(words: Sequence[str]) -> int:
    # Imported here: of the commands only this one needs it.
    from sandbox_agent.agents.adapters.entry import main

    return main(words)
