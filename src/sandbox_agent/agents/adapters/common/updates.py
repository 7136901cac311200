"""The output of a converter of native events: ACP updates, with one function for each kind.

`Unparsed` is an event that the converter does not understand; the client gets the event unchanged.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from acp import helpers
from acp.schema import (
    AgentMessageChunk,
    AgentPlanUpdate,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    ContentToolCallContent,
    CurrentModeUpdate,
    FileEditToolCallContent,
    PlanEntry,
    SessionInfoUpdate,
    TerminalToolCallContent,
    ToolCallProgress,
    ToolCallStart,
    ToolCallUpdate,
    UsageUpdate,
    UserMessageChunk,
)

Update = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | AgentPlanUpdate
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
)
Content = ContentToolCallContent | FileEditToolCallContent | TerminalToolCallContent
Kind = Literal[
    "read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"
]
Status = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True)
class Unparsed:
    """A native event that has no ACP update."""

    location: str
    raw: Any
    error: str = "no ACP update for this event"


Output = list[Update | Unparsed]
"""What a converter returns for one native event."""


def message_chunk(text: str, message_id: str | None = None) -> AgentMessageChunk:
    return AgentMessageChunk(
        session_update="agent_message_chunk", content=helpers.text_block(text), message_id=message_id
    )


def thought_chunk(text: str, message_id: str | None = None) -> AgentThoughtChunk:
    return AgentThoughtChunk(
        session_update="agent_thought_chunk", content=helpers.text_block(text), message_id=message_id
    )


def user_message_chunk(text: str) -> UserMessageChunk:
    return UserMessageChunk(session_update="user_message_chunk", content=helpers.text_block(text))


def text_content(text: str) -> ContentToolCallContent:
    return ContentToolCallContent(type="content", content=helpers.text_block(text))


def diff_content(path: str, new_text: str, old_text: str | None = None) -> FileEditToolCallContent:
    return FileEditToolCallContent(type="diff", path=path, new_text=new_text, old_text=old_text)


def meta(**values: Any) -> dict[str, Any]:
    """`_meta` of an update, under the product's own key."""
    return {"sandboxagent.dev": values}


def legacy_event(native_session_id: str) -> dict[str, Any]:
    """The envelope of a universal event, which clients give to the event they derive from the message.

    It has no number: the client counts its own events too.
    """
    return {
        "eventId": f"evt_{uuid.uuid4().hex}",
        "source": "agent",
        "synthetic": False,
        "nativeSessionId": native_session_id,
    }


def with_legacy_event(update: Update, native_session_id: str) -> Update:
    """The update with the envelope in `_meta`, beside what is there."""
    root = dict(update.field_meta or {})
    own = {**root.get("sandboxagent.dev", {}), "legacyEvent": legacy_event(native_session_id)}
    return update.model_copy(update={"field_meta": {**root, "sandboxagent.dev": own}})


def plan_update(steps: Sequence[tuple[str, str]]) -> AgentPlanUpdate:
    """From pairs of text and status; each agent has its own status words."""
    entries = [PlanEntry(content=text, priority="medium", status=_plan_status(word)) for text, word in steps]
    return AgentPlanUpdate(session_update="plan", entries=entries)


def title_update(text: str) -> SessionInfoUpdate:
    return SessionInfoUpdate(session_update="session_info_update", title=text)


def tool_progress(call: ToolCallUpdate) -> ToolCallProgress:
    """What has become known of a tool call, as an update of the session."""
    return ToolCallProgress(
        session_update="tool_call_update",
        tool_call_id=call.tool_call_id,
        title=call.title,
        kind=call.kind,
        raw_input=call.raw_input,
        content=call.content,
    )


def meta_update(**values: Any) -> SessionInfoUpdate:
    """Information that ACP has no update for, in `_meta` of an otherwise empty update."""
    return SessionInfoUpdate(session_update="session_info_update", field_meta=meta(**values))


def mode_update(mode_id: str) -> CurrentModeUpdate:
    return CurrentModeUpdate(session_update="current_mode_update", current_mode_id=mode_id)


def usage_update(used: int, size: int) -> UsageUpdate:
    return UsageUpdate(session_update="usage_update", used=used, size=size)


def _plan_status(word: str) -> Literal["pending", "in_progress", "completed"]:
    if word in ("in_progress", "inProgress", "active"):
        return "in_progress"
    return "completed" if word in ("completed", "done", "cancelled") else "pending"
