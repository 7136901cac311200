"""Questions of every agent in one form, and the two ways to put them to a client.

A client with `elicitation.form` gets one form for all questions; any other gets one
`_sandboxagent/session/request_question` after the other. Answers are labels, one list a question.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from acp import RequestError
from acp.interfaces import Client
from acp.schema import (
    AcceptElicitationResponse,
    ElicitationFormSessionMode,
    ElicitationMultiSelectPropertySchema,
    ElicitationSchema,
    ElicitationStringPropertySchema,
    EnumOption,
    TitledMultiSelectItems,
)

_Property = ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema


@dataclass(frozen=True)
class Choice:
    label: str
    description: str = ""


@dataclass(frozen=True)
class Question:
    text: str
    header: str = ""
    choices: tuple[Choice, ...] = ()
    multiple: bool = False
    custom: bool = True
    """The user may answer in words of their own."""


async def ask_by_form(
    client: Client, session_id: str, questions: Sequence[Question], tool_call_id: str | None
) -> list[list[str]] | None:
    properties: dict[str, Any] = {}
    for number, question in enumerate(questions):
        properties[f"question_{number}"] = _property(question)
        if question.custom and question.choices:
            properties[f"question_{number}_custom"] = ElicitationStringPropertySchema(
                type="string", title="Other", description="An answer in your own words"
            )
    form = ElicitationFormSessionMode(
        session_id=session_id,
        tool_call_id=tool_call_id,
        requested_schema=ElicitationSchema(type="object", properties=properties),
    )
    message = "\n".join(question.text for question in questions)
    try:
        answer = await client.create_elicitation(message, form)
    except RequestError:
        return None
    if not isinstance(answer, AcceptElicitationResponse):
        return None
    return [_chosen(answer.content or {}, number) for number in range(len(questions))]


async def ask_by_extension(
    client: Client, session_id: str, questions: Sequence[Question], tool_call_id: str | None
) -> list[list[str]] | None:
    answers: list[list[str]] = []
    for question in questions:
        params: dict[str, Any] = {
            "sessionId": session_id,
            "questionId": str(uuid.uuid4()),
            "prompt": question.text,
            "options": [[choice.label, choice.label] for choice in question.choices],
        }
        if tool_call_id is not None:
            params["toolCallId"] = tool_call_id
        try:
            answer = await client.ext_method("sandboxagent/session/request_question", params)
        except RequestError:
            return None
        if not isinstance(answer, dict) or answer.get("status") != "answered":
            return None
        given = answer.get("answers") or [[]]
        answers.append([str(label) for label in given[0]])
    return answers


def _property(question: Question) -> _Property:
    title = question.header or question.text
    options = [
        EnumOption(const=choice.label, title=choice.label, description=choice.description or None)
        for choice in question.choices
    ]
    if question.multiple and options:
        items = TitledMultiSelectItems(any_of=options)
        return ElicitationMultiSelectPropertySchema(
            type="array", title=title, description=question.text, items=items
        )
    return ElicitationStringPropertySchema(
        type="string", title=title, description=question.text, one_of=options or None
    )


def _chosen(content: dict[str, Any], number: int) -> list[str]:
    own_words = content.get(f"question_{number}_custom")
    chosen = content.get(f"question_{number}")
    labels = chosen if isinstance(chosen, list) else [chosen] if chosen else []
    return [str(label) for label in labels] + ([str(own_words)] if own_words else [])
