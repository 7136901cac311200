"""Requests of the agent that wait for an answer: permissions and questions.

The mapper keeps them by their legacy id, with the JSON-RPC id of their request, so a reply can be built
(`replies`) from the record alone, also after a restart of the client.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

QuestionOrigin = Literal["question", "elicitation", "plan", "qwen", "grok"]
"""How the question came: as a request of this product, as a form, as the approval of a plan or a choice
among permission options, or in the own form of an agent."""


NO_OPTION = "None of the above"
"""The option of Codex for an answer that is in the field beside the question."""


class PermissionOption(Struct, frozen=True):
    """One option of a permission request."""

    option_id: str
    name: str
    kind: str


class PendingPermission(Struct, frozen=True, kw_only=True):
    """A permission request that has no answer yet."""

    permission_id: str
    request_id: Any
    """The id of the JSON-RPC request, as it came."""
    action: str
    tool_call: dict[str, Any]
    options: list[PermissionOption]
    metadata: dict[str, Any]
    time: str
    """The time of the request, as in the event."""
    raw_request: dict[str, Any]
    """The parameters of the request."""


class QuestionOption(Struct, frozen=True):
    """One possible answer: `value` is sent, `label` is displayed."""

    value: str
    label: str
    description: str | None = None


class PendingQuestion(Struct, frozen=True, kw_only=True):
    """A question that has no answer yet; a form may give several, all with one request id."""

    question_id: str
    request_id: Any
    origin: QuestionOrigin
    prompt: str
    options: list[QuestionOption]
    multi_select: bool = False
    required: bool = True
    property: str | None = None
    """The form field this question fills."""
    allow_other: bool = False
    """An answer outside the options is allowed."""
    other_property: str | None = None
    """The form field for an answer outside the options, if it has one of its own."""
    value_type: str = "string"
    """The JSON type of the field."""
    permission_options: list[PermissionOption] = []
    """The options of the permission request behind the question."""
