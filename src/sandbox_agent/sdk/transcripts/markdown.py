"""A transcript to read: headings for user and agent, thoughts as quotes, tools with input and output."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping

from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transcripts.conversation_steps import Message, Step, ToolStep

_TITLES = {"user": "User", "agent": "Agent", "system": "System"}


def markdown(title: str, facts: Mapping[str, str], steps: Iterable[Step]) -> str:
    """The conversation as Markdown; `facts` are listed below the title."""
    blocks = [f"# {_one_line(title)}"]
    if facts:
        blocks.append("\n".join(f"- {name}: {_one_line(value)}" for name, value in facts.items()))
    speaker = ""
    for step in steps:
        source = "agent" if isinstance(step, ToolStep) else step.source
        if source != speaker or source == "user":
            blocks.append(f"## {_TITLES[source]}")
            speaker = source
        blocks += _tool(step) if isinstance(step, ToolStep) else _message(step)
    # A lone surrogate, which JSON may have, is no character of a text file.
    return ("\n\n".join(blocks) + "\n").encode(errors="replace").decode()


def _message(step: Message) -> list[str]:
    thoughts = "\n".join(f"> {line}".rstrip() for line in step.thoughts.strip().splitlines())
    return [block for block in (thoughts, step.text.strip("\n")) if block]


def _tool(step: ToolStep) -> list[str]:
    call = step.call
    state = "failed" if step.failed else "done" if step.ended is not None else "no result"
    sub_agent = ", of a sub-agent" if call.parent_call_id is not None else ""
    blocks = [f"**{_one_line(call.title or call.name)}** (`{call.name}`, {state}{sub_agent})"]
    if call.arguments not in ("", "{}", "null"):
        blocks.append(_fenced(_indented(call.arguments), "json"))
    blocks += [_fenced(output, "text") for output in step.outputs]
    blocks += [_fenced(diff, "diff") for diff in step.diffs]
    return blocks


def _indented(arguments: str) -> str:
    try:
        return json.dumps(json_codec.decode(arguments), indent=2, ensure_ascii=False)
    except ValueError:
        return arguments


def _fenced(text: str, language: str) -> str:
    """A code block whose fence is longer than every row of backticks in it."""
    longest = max((len(row) for row in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
