"""Questions of an agent to the user, and the two ways to send them to a client.

A client with `elicitation.form` gets one form for all questions; any other gets one
`_sandboxagent/session/request_question` per question, with descriptions, several answers and free text where
the question has them. Answers are labels or the user's own words, one list per question.
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

from sandbox_agent.agents.adapters.common.updates import legacy_event, meta

_Property = ElicitationStringPropertySchema | ElicitationMultiSelectPropertySchema


@dataclass(frozen=True)
class AnswerOption:
    label: str
    description: str = ""


@dataclass(frozen=True)
class Question:
    text: str
    header: str = ""
    options: tuple[AnswerOption, ...] = ()
    multiple: bool = False
    custom: bool = True
    """The user may also answer with free text."""


async def ask_by_form(
    client: Client, session_id: str, questions: Sequence[Question], tool_call_id: str | None
) -> list[list[str]] | None:
    properties: dict[str, Any] = {}
    for number, question in enumerate(questions):
        properties[f"question_{number}"] = _property(question)
        if question.custom and question.options:
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
            "options": [_choice(option) for option in question.options],
            "multiSelect": question.multiple,
            "allowOther": question.custom,
            "_meta": meta(legacyEvent=legacy_event(session_id), header=question.header),
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


def _choice(option: AnswerOption) -> list[str]:
    """Value and label, which every client reads, and behind them the description."""
    described = [option.description] if option.description else []
    return [option.label, option.label, *described]


def _property(question: Question) -> _Property:
    title = question.header or question.text
    options = [
        EnumOption(const=option.label, title=option.label, description=option.description or None)
        for option in question.options
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
    free_text = content.get(f"question_{number}_custom")
    chosen = content.get(f"question_{number}")
    labels = chosen if isinstance(chosen, list) else [chosen] if chosen else []
    return [str(label) for label in labels] + ([str(free_text)] if free_text else [])
