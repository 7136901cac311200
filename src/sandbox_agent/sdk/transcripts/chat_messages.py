"""Chat messages for training: the roles and keys of the OpenAI chat format, which trainers read.

A message of the agent carries the tool calls that follow it, calls that ran at the same time are in one
message, and each has its `tool` message. Thoughts are `reasoning_content`, as chat templates of reasoning
models name them. Tool calls of sub-agents are left out: another model made them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sandbox_agent.sdk.transcripts.conversation_steps import Message, Step, ToolStep


def chat_messages(steps: Iterable[Step]) -> list[dict[str, Any]]:
    """The conversation as chat messages."""
    chat = _Chat()
    for step in steps:
        if isinstance(step, ToolStep):
            if step.call.parent_call_id is None:
                chat.tool(step)
        else:
            chat.message(step)
    return chat.finish()


class _Chat:
    """Builds the messages; that of the agent stays open for its tool calls."""

    def __init__(self) -> None:
        self._messages: list[dict[str, Any]] = []
        self._thoughts: list[str] = []
        self._open: dict[str, Any] | None = None
        self._tools: list[ToolStep] = []

    def message(self, step: Message) -> None:
        if step.source == "agent":
            self._thoughts += [step.thoughts] if step.thoughts else []
            if step.text:
                self._agent(step.text)
        else:
            self.finish()
            self._messages.append({"role": step.source, "content": step.text})

    def tool(self, step: ToolStep) -> None:
        first_end = min((one.ended for one in self._tools if one.ended is not None), default=None)
        if self._open is None or self._thoughts or (first_end is not None and step.began > first_end):
            self._agent(None)
        self._tools.append(step)

    def finish(self) -> list[dict[str, Any]]:
        """Close the agent's message; returns all of them."""
        if self._thoughts:
            self._agent("")
        if self._open is not None:
            if self._tools:
                self._open["tool_calls"] = [_call(tool) for tool in self._tools]
            self._messages += [self._open, *map(_answer, self._tools)]
        self._open, self._tools = None, []
        return self._messages

    def _agent(self, content: str | None) -> None:
        thoughts, self._thoughts = "".join(self._thoughts), []
        self.finish()
        self._open = {"role": "assistant", "content": content}
        if thoughts:
            self._open["reasoning_content"] = thoughts


def _call(tool: ToolStep) -> dict[str, Any]:
    function = {"name": tool.call.name, "arguments": tool.call.arguments}
    return {"id": tool.call.call_id, "type": "function", "function": function}


def _answer(tool: ToolStep) -> dict[str, Any]:
    content = tool.result or ("failed" if tool.failed else "")
    return {"role": "tool", "tool_call_id": tool.call.call_id, "content": content}
