"""Arguments of the mock agent's commands.

A command whose arguments do not fit starts no script, so a sentence that begins with its name ("kill all
bugs") is echoed like any other text.
"""

from __future__ import annotations

from collections.abc import Callable

from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.script_steps import Script

StartScript = Callable[[Prompt, str], Script | None]
"""Takes the prompt and the text after the command; None if that text does not fit."""


def numbers(rest: str, most: int) -> list[int] | None:
    """Up to `most` whole numbers; None if there are more, or anything else."""
    words = rest.split()
    if len(words) > most or not all(word.isdecimal() and word.isascii() for word in words):
        return None
    return [int(word) for word in words]


def without_arguments(script: Callable[[Prompt], Script]) -> StartScript:
    """A command that must stand alone."""

    def start(prompt: Prompt, rest: str) -> Script | None:
        return None if rest else script(prompt)

    return start
