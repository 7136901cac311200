"""Which flags an `amp` understands, read from its help, and which runs to try, the richest first.

Amp changes its flags from month to month: nothing is taken for granted but `--execute` and JSON output.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_FLAG = re.compile(r"^\s+(?:-\w, )?(--[a-z][a-z-]+)", re.MULTILINE)
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

    def runs(self, *, bypass: bool, mode: str | None, mcp_config: str | None) -> list[list[str]]:
        """Flag lists in the order they are tried: each next one asks for less.

        What the user chose (bypass, MCP servers) is never dropped; extras are.
        """
        needed = ["--dangerously-allow-all"] if bypass else []
        needed += ["--mcp-config", mcp_config] if mcp_config else []
        chosen = ["--mode", mode] if mode and "--mode" in self.known else []
        runs = []
        if "--stream-json-thinking" in self.known:
            runs.append(["--execute", "--stream-json-thinking", *needed, *chosen])
        runs.append(["--execute", "--stream-json", *needed, *chosen])
        runs.append(["--execute", "--stream-json", *needed])
        return [run for index, run in enumerate(runs) if run not in runs[:index]]


def read_help(text: str) -> Flags:
    modes = _MODES.search(text)
    names = re.findall(r"[a-z]+", modes[1]) if modes else []
    return Flags(frozenset(_FLAG.findall(text)), tuple(names))
