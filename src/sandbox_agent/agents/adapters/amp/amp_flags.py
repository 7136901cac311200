"""The flags an `amp` program supports, read from its help, and the flag lists to try in order.

Amp changes its flags every few weeks: only `--execute` and `--stream-json` are required.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

_FLAG = re.compile(r"^\s+(?:-\w, )?(--[a-z][a-z-]+)", re.MULTILINE)
_REFUSAL = re.compile(r"unknown option|unexpected argument|unrecognized|invalid (value|mode|option)", re.I)
_MODES = re.compile(r"--mode <\w+>\s+[^(]*\(([^)]+)\)")


@dataclass(frozen=True)
class AmpFlags:
    """What the installed `amp` supports."""

    known: frozenset[str]
    modes: tuple[str, ...]

    @property
    def streams_json(self) -> bool:
        return "--execute" in self.known and "--stream-json" in self.known

    @property
    def allows_all(self) -> bool:
        return "--dangerously-allow-all" in self.known

    @property
    def reads_messages(self) -> bool:
        """Reads messages with images from stdin, one JSON object per line."""
        return "--stream-json-input" in self.known

    @property
    def runs_on_server(self) -> bool:
        """The agent runs on Amp's server, as in every version since the summer of 2026."""
        return "--executor" in self.known

    def flag_lists(
        self, *, bypass: bool, mode: str | None, mcp_config: str | None, messages: bool = False
    ) -> list[list[str]]:
        """The flag lists to try, each with fewer flags than the one before.

        The user's choices (bypass, MCP servers, images in `messages`) are never dropped.
        """
        needed = ["--stream-json-input"] if messages else []
        needed += ["--dangerously-allow-all"] if bypass else []
        needed += ["--mcp-config", mcp_config] if mcp_config else []
        chosen = ["--mode", mode] if mode and "--mode" in self.known else []
        lists = []
        if "--stream-json-thinking" in self.known:
            lists.append(["--execute", "--stream-json", "--stream-json-thinking", *needed, *chosen])
        lists.append(["--execute", "--stream-json", *needed, *chosen])
        lists.append(["--execute", "--stream-json", *needed])
        return [flags for index, flags in enumerate(lists) if flags not in lists[:index]]


def read_help(text: str) -> AmpFlags:
    modes = _MODES.search(text)
    # The names come first; newer versions add an explanation after them.
    words = re.split(r",\s*", modes[1]) if modes else []
    names = itertools.takewhile(lambda word: word.isalpha(), words)
    return AmpFlags(frozenset(_FLAG.findall(text)), tuple(names))


def refuses_flags(stderr: str) -> bool:
    """Whether the program exited because of its flags, not because of the prompt."""
    return bool(_REFUSAL.search(stderr))
