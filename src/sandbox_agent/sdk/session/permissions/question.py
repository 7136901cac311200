"""The question of an agent to its user, and a ready-made callback that answers it.

A callback, plain or async, gets a `Question` and returns the answer, or `REJECT`; None leaves it open for
`session.reply_question`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sandbox_agent.sdk.universal.user_request_models import PendingQuestion, QuestionOption, QuestionOrigin


class Reject:
    """The type of `REJECT`, the answer that rejects a question."""

    def __repr__(self) -> str:
        return "REJECT"


REJECT: Final = Reject()


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the agent to its user."""

    id: str
    session_id: str
    prompt: str
    options: tuple[QuestionOption, ...]
    """The possible answers, with `value` and `label`; empty for free text."""
    multi_select: bool
    required: bool
    allow_other: bool
    """An answer outside the options is allowed."""
    value_type: str
    """The JSON type of the answer: `string`, `integer`, `number`, `boolean` or `array`."""
    origin: QuestionOrigin

    @classmethod
    def of(cls, pending: PendingQuestion, session_id: str) -> Question:
        return cls(
            id=pending.question_id,
            session_id=session_id,
            prompt=pending.prompt,
            options=tuple(pending.options),
            multi_select=pending.multi_select,
            required=pending.required,
            allow_other=pending.allow_other or not pending.options,
            value_type=pending.value_type,
            origin=pending.origin,
        )


Answer = str | int | float | Sequence[str] | Sequence[Sequence[str]]
QuestionDecision = Answer | Reject | None
OnQuestion = Callable[[Question], QuestionDecision | Awaitable[QuestionDecision]]


async def ask_terminal_question(question: Question) -> Answer | Reject:
    """Ask the user of this terminal; an empty line rejects the question."""
    offered = "".join(f"\n  {option.value}: {option.label}" for option in question.options)
    answer = (await asyncio.to_thread(input, f"{question.prompt}{offered}\n> ")).strip()
    if not answer:
        return REJECT
    return [part.strip() for part in answer.split(",")] if question.multi_select else answer
