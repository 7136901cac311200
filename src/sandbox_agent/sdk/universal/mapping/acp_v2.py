"""ACP v2 (draft) in the terms of v1, so that one mapper reads both.

The two versions share most updates. What v2 adds is recognised by its kind: chunks of tool content, terminals
that the agent shows itself, diffs as patches, and permission requests with a subject. Terminals and chunks
become updates of the tool call that they belong to.
"""

from __future__ import annotations

import re
from base64 import b64decode
from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text

_SECTION = re.compile(r"(?m)^(?=diff --git )")
TOOL_KINDS = frozenset(("tool_call_content_chunk", "terminal_update", "terminal_output_chunk"))
WHOLE_MESSAGES = {
    "user_message": "user_message_chunk",
    "agent_message": "agent_message_chunk",
    "agent_thought": "agent_thought_chunk",
}
"""The updates that replace a message, and the chunks of the same message."""


def is_acceptance(result: Any) -> bool:
    """Whether the answer to a prompt only accepts it; `state_update` tells when its turn ends."""
    fields = as_dict(result)
    return "messageId" in fields and "stopReason" not in fields


def permission_params(params: dict[str, Any]) -> dict[str, Any]:
    """The parameters of `session/request_permission` with a `toolCall`.

    The `title` stays where it is: it is the question of this request and not the title of the call.
    """
    if "toolCall" in params or not isinstance(params.get("title"), str):
        return params
    subject = as_dict(params.get("subject"))
    call = as_dict(subject.get("toolCall"))
    if subject.get("type") == "command":
        arguments = {key: subject[key] for key in ("command", "cwd") if key in subject}
        call = {"toolCallId": subject.get("toolCallId"), "kind": "execute", "rawInput": arguments}
    return {**params, "toolCall": tool_update(call)}


def tool_update(update: dict[str, Any]) -> dict[str, Any]:
    """A tool call whose diffs name one file each."""
    content = update.get("content")
    if not isinstance(content, list) or not any("changes" in as_dict(one) for one in content):
        return update
    return {**update, "content": [piece for one in content for piece in _pieces(one)]}


class V2Tools(Struct):
    """The content and terminals of tool calls; empty as long as a session is one of v1."""

    active: bool = False
    """The session has shown that it is one of v2."""
    contents: dict[str, list[Any]] = {}
    calls: dict[str, str] = {}
    """The tool call that shows a terminal."""
    outputs: dict[str, str] = {}
    """The output of terminals that no tool call shows yet."""

    def seen(self, update: dict[str, Any]) -> dict[str, Any]:
        """A tool call passes: remember its content, and add the output of the terminals it shows."""
        call_id, content = as_text(update.get("toolCallId")), update.get("content")
        if call_id is None or not isinstance(content, list):
            return update
        self.contents[call_id] = content
        written = ""
        for one in map(as_dict, content):
            terminal_id = as_text(one.get("terminalId"))
            if one.get("type") == "terminal" and terminal_id is not None:
                self.calls[terminal_id] = call_id
                written += self.outputs.pop(terminal_id, "")
        if not written:
            return update
        return {**update, "_meta": {**as_dict(update.get("_meta")), **_delta(written)}}

    def translate(self, kind: str, update: dict[str, Any]) -> dict[str, Any] | None:
        """The update of a tool call that says the same; None if it belongs to no call."""
        if kind == "tool_call_content_chunk":
            call_id = as_text(update.get("toolCallId")) or ""
            content = [*self.contents.get(call_id, ()), update.get("content")]
            self.contents[call_id] = content
            return {**_call(call_id), "content": content}
        terminal_id = as_text(update.get("terminalId")) or ""
        is_chunk = kind == "terminal_output_chunk"
        text = _decoded(update.get("data") if is_chunk else as_dict(update.get("output")).get("data"))
        ended = as_dict(update.get("exitStatus"))
        call_id = self.calls.get(terminal_id, "")
        if not call_id:
            before = self.outputs.get(terminal_id, "") if is_chunk or not text else ""
            self.outputs[terminal_id] = before + text
            return None
        written = _delta(text) if is_chunk else {"terminal_output": {"data": text}}
        meta = {**(written if text else {}), **({"terminal_exit": ended} if ended else {})}
        return {**_call(call_id), "_meta": meta} if meta else None


def _call(call_id: str) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id}


def _delta(text: str) -> dict[str, Any]:
    return {"terminal_output_delta": {"data": text}}


def _decoded(data: Any) -> str:
    try:
        return b64decode(data, validate=True).decode("utf-8", "replace") if isinstance(data, str) else ""
    except ValueError:
        return ""


def _pieces(content: Any) -> list[dict[str, Any]]:
    changes = as_dict(content).get("changes")
    if not isinstance(changes, list):
        return [content]
    text = as_text(as_dict(as_dict(content).get("patch")).get("text")) or ""
    sections = [section for section in _SECTION.split(text) if section]
    if len(sections) != len(changes):
        sections = [text] * len(changes)
    return [
        {
            "type": "diff",
            "path": as_text(change.get("newPath")) or as_text(change.get("path")),
            "operation": change.get("operation"),
            "patch": section,
        }
        for change, section in zip(map(as_dict, as_list(changes)), sections, strict=True)
    ]
