"""Which flags an `amp` understands, read from its help, and which runs to try, the richest first.

Amp changes its flags from month to month: nothing is taken for granted but `--execute` and JSON output.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

_FLAG = re.compile(r"^\s+(?:-\w, )?(--[a-z][a-z-]+)", re.MULTILINE)
_REFUSAL = re.compile(r"unknown option|unexpected argument|unrecognized|invalid (value|mode|option)", re.I)
_MODES = re.compile(r"--mode <\w+>\s+[^(]*\(([^)]+)\)")


@dataclass(frozen=True)
class Flags:
    """What the installed `amp` offers."""

    known: frozenset[str]
    modes: tuple[str, ...]

    @property
    def streams_json(self) -> bool:
        return "--execute" in self.known and "--stream-json" in self.known

    @property
    def allows_all(self) -> bool:
        return "--dangerously-allow-all" in self.known

    @property
    def takes_messages(self) -> bool:
        """Reads messages with pictures from stdin, one JSON object a line."""
        return "--stream-json-input" in self.known

    @property
    def runs_elsewhere(self) -> bool:
        """The agent's loop is on Amp's server, as in every version since the summer of 2026."""
        return "--executor" in self.known

    def runs(
        self, *, bypass: bool, mode: str | None, mcp_config: str | None, messages: bool = False
    ) -> list[list[str]]:
        """Flag lists in the order they are tried: each next one asks for less.

        What the user chose (bypass, MCP servers, pictures in `messages`) is never dropped; extras are.
        """
        needed = ["--stream-json-input"] if messages else []
        needed += ["--dangerously-allow-all"] if bypass else []
        needed += ["--mcp-config", mcp_config] if mcp_config else []
        chosen = ["--mode", mode] if mode and "--mode" in self.known else []
        runs = []
        if "--stream-json-thinking" in self.known:
            runs.append(["--execute", "--stream-json", "--stream-json-thinking", *needed, *chosen])
        runs.append(["--execute", "--stream-json", *needed, *chosen])
        runs.append(["--execute", "--stream-json", *needed])
        return [run for index, run in enumerate(runs) if run not in runs[:index]]


def read_help(text: str) -> Flags:
    modes = _MODES.search(text)
    # Names come first; newer versions go on with an explanation.
    words = re.split(r",\s*", modes[1]) if modes else []
    names = itertools.takewhile(lambda word: word.isalpha(), words)
    return Flags(frozenset(_FLAG.findall(text)), tuple(names))


def refuses_flags(stderr: str) -> bool:
    """Whether a run ended because of its flags, not because of what it was asked to do."""
    return bool(_REFUSAL.search(stderr))
