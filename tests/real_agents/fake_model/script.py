"""What the model does, written into the prompt: `[[think hm]] [[shell echo hi]] [[say done]]`.

    say TEXT        answers TEXT                     shell COMMAND      calls the agent's shell tool
    think TEXT      reasons first                    write PATH TEXT    calls its tool to write a file
    slow N S        streams N chunks, S seconds      read PATH          calls its tool to read one
                    apart                            ask QUESTION       calls its tool to ask the user
    error STATUS    answers with that HTTP status    plan               calls its tool to note a plan
    code COMMAND    writes a shell block, for        tool NAME JSON     calls exactly that
                    agents whose tools are text

Each tool call ends one answer; the next request, which carries its result, goes on behind it. A prompt
without directives is answered with its own head.
"""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass, field
from typing import Any

from .tools import Tool, call_for

_DIRECTIVE = re.compile(r"\[\[(say|think|slow|error|shell|write|read|ask|plan|tool)\b\s*(.*?)\]\]", re.DOTALL)
_CODE = re.compile(r"\[\[code (.*?)\]\]", re.DOTALL)
_TOOLS = frozenset({"shell", "write", "read", "ask", "plan", "tool"})

# What the model counts for every answer.
INPUT_TOKENS, OUTPUT_TOKENS = 10, 5


@dataclass(frozen=True)
class Message:
    """One item of a conversation, in the terms that all APIs share."""

    role: str
    """`user`, `assistant` or `result` (of a tool)."""
    text: str


@dataclass(frozen=True)
class ToolCall:
    tool: Tool
    arguments: dict[str, Any]

    @property
    def json(self) -> str:
        return json.dumps(self.arguments)


@dataclass
class Reply:
    thought: str = ""
    pieces: list[str] = field(default_factory=list)
    pause_s: float = 0.0
    """Between the chunks."""
    call: ToolCall | None = None
    error: int | None = None

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def answer(messages: list[Message], tools: list[Tool]) -> Reply:
    """The model's answer to this conversation."""
    prompt, results = _last_prompt(messages)
    directives = _DIRECTIVE.findall(prompt)
    if not tools and messages and (code := _CODE.search(messages[-1].text)):
        return Reply(pieces=[f"```shell\n{code[1]}\n```\n"])
    if not tools:
        # Titles, summaries and probes: they quote the prompt but are not the turn.
        return Reply(pieces=["A short title"])
    if not directives:
        return Reply(pieces=[f"{len(messages)} messages; you said: {prompt.strip()[-200:]}"])
    reply = Reply()
    calls_to_skip = len(results)
    for name, argument in directives:
        if calls_to_skip:
            calls_to_skip -= name in _TOOLS
        elif name in _TOOLS:
            reply.call = _call(name, argument.strip(), tools)
            if reply.call is None:
                reply.pieces.append(f"no tool for {name} here")
            return reply
        else:
            _say(reply, name, argument.strip())
    if not reply.pieces and reply.error is None:
        reply.pieces.append(f"The tool said: {results[-1][-500:]}" if results else "Done.")
    return reply


def _say(reply: Reply, name: str, argument: str) -> None:
    if name == "think":
        reply.thought += argument
    elif name == "error":
        reply.error = int(argument)
    elif name == "slow":
        count, seconds = argument.split()
        reply.pieces += [f"tick {number} " for number in range(1, int(count) + 1)]
        reply.pause_s = float(seconds)
    else:
        reply.pieces += re.findall(r"\S+\s*", argument)


def _call(name: str, argument: str, tools: list[Tool]) -> ToolCall | None:
    if name == "tool":
        wanted, _, raw = argument.partition(" ")
        found = next((tool for tool in tools if tool.name == wanted), None)
        return ToolCall(found, json.loads(raw or "{}")) if found else None
    chosen = call_for(name, argument, tools)
    return ToolCall(*chosen) if chosen else None


def _last_prompt(messages: list[Message]) -> tuple[str, list[str]]:
    """The text of the last prompt and the results of the tools called since, oldest first.

    Agents slip reminders of their own behind a tool's result; those are no prompts.
    """
    results: list[str] = []
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.role == "result":
            results.insert(0, message.text)
        elif message.role == "user":
            before = messages[index - 1].role if index else ""
            if _DIRECTIVE.search(message.text):
                return message.text, results
            if before not in ("result", "user"):
                # An agent may add reminders around the prompt, so all user items in a row count.
                group = itertools.takewhile(lambda later: later.role == "user", messages[index:])
                return "\n".join(item.text for item in group), results
    return "", results
