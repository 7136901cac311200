"""The flags an `amp` program supports, read from its help, and the command lines to try in order.

Amp changes its flags every few weeks. Two families are known: `--execute --stream-json` with `threads`
subcommands, and `--print` (or `--execute`) with `--output-format stream-json` and `--continue`.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Literal

_FLAG = re.compile(r"^\s+(?:-\w, )?(--[a-z][a-z-]+)", re.MULTILINE)
_LONGEST_ARGUMENT = 30_000
_CHOICES = r"--{} <[\w-]+>\s+[^(\n]*\(([^)]+)\)"


Family = Literal["threads", "print"] | None


@dataclass(frozen=True)
class AmpRequest:
    """What a turn needs from the command line."""

    thread: str | None
    """The thread to continue; None begins one, which only the second family can do."""
    bypass: bool = False
    choice: str | None = None
    """The mode (`--mode`) or the model (`--model`) that the user chose."""
    mcp_config: str | None = None
    prompt: str | None = ""
    """The text of the prompt; None if it is a line of JSON on stdin."""


@dataclass(frozen=True)
class AmpFlags:
    """What the installed `amp` supports."""

    known: frozenset[str]
    choices: tuple[str, ...]
    """The values of `--mode`, or of `--model` in the second family, as far as the help lists them."""

    @property
    def family(self) -> Family:
        return _family_of(self.known)

    @property
    def allows_all(self) -> bool:
        return self._allow_all_flag in self.known

    @property
    def _allow_all_flag(self) -> str:
        return "--dangerously-allow-all" if self.family == "threads" else "--dangerously-skip-permissions"

    @property
    def reads_messages(self) -> bool:
        """Reads messages with images from stdin, one JSON object per line."""
        return "--stream-json-input" in self.known

    @property
    def runs_on_server(self) -> bool:
        """The agent runs on Amp's server, as in every version since the summer of 2026."""
        return "--executor" in self.known

    def command_lines(self, wanted: AmpRequest) -> list[list[str]]:
        """The words after `amp` to try, each with fewer flags than the one before.

        The user's choices that matter (thread, bypass, MCP servers, images) are never dropped.
        """
        lines = self._threads(wanted) if self.family == "threads" else self._print(wanted)
        return [line for index, line in enumerate(lines) if line not in lines[:index]]

    def _threads(self, wanted: AmpRequest) -> list[list[str]]:
        if wanted.thread is None:
            raise ValueError("this version of amp needs a thread to continue")
        thread = ["threads", "continue", wanted.thread, "--execute", "--stream-json"]
        needed = ["--stream-json-input"] if wanted.prompt is None else []
        needed += self._needed(wanted)
        chosen = ["--mode", wanted.choice] if wanted.choice and "--mode" in self.known else []
        lines = [[*thread, *needed, *chosen], [*thread, *needed]]
        if "--stream-json-thinking" in self.known:
            lines.insert(0, [*thread, "--stream-json-thinking", *needed, *chosen])
        return lines

    def _print(self, wanted: AmpRequest) -> list[list[str]]:
        output = ["--output-format", "stream-json"]
        thread = ["--continue", wanted.thread] if wanted.thread else []
        chosen = ["--model", wanted.choice] if wanted.choice and "--model" in self.known else []
        needed = [*thread, *self._needed(wanted)]
        # A longer one is read from stdin only; a leading dash would make it a flag.
        text = wanted.prompt or ""
        prompt = [f" {text}" if text.startswith("-") else text] if 0 < len(text) < _LONGEST_ARGUMENT else []
        names = [name for name in ("--print", "--execute") if name in self.known]
        return [[name, *output, *choice, *needed, *prompt] for choice in (chosen, []) for name in names]

    def _needed(self, wanted: AmpRequest) -> list[str]:
        needed = [self._allow_all_flag] if wanted.bypass else []
        return needed + (["--mcp-config", wanted.mcp_config] if wanted.mcp_config else [])


def read_help(text: str) -> AmpFlags:
    known = frozenset(_FLAG.findall(text))
    name = "model" if _family_of(known) == "print" else "mode"
    listed = re.search(_CHOICES.format(name), text)
    # The names come first; newer versions add an explanation after them.
    words = re.split(r",\s*", listed[1]) if listed else []
    names = itertools.takewhile(lambda word: re.fullmatch(r"[\w.-]+", word), words)
    return AmpFlags(known, tuple(names))


def _family_of(known: frozenset[str]) -> Family:
    if {"--execute", "--stream-json"} <= known:
        return "threads"
    if "--output-format" in known and {"--print", "--execute"} & known:
        return "print"
    return None
