"""Answers to the questions of one request, collected until all are given."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sandbox_agent.sdk.errors import InvalidAnswerError
from sandbox_agent.sdk.session.permissions.question import Answer
from sandbox_agent.sdk.universal import replies
from sandbox_agent.sdk.universal.user_request_models import PendingQuestion

Form = Sequence[PendingQuestion]


class FormDrafts:
    """The answers of incomplete forms, by question id."""

    def __init__(self) -> None:
        self._selections: dict[str, list[str]] = {}

    def add(self, question: PendingQuestion, answers: Answer) -> None:
        """Keep the answer to one question; raises `InvalidAnswerError` if it does not fit."""
        chosen = _selections(question, answers)
        replies.question_result([question], [chosen])
        self._selections[question.question_id] = chosen

    def take_complete(self, form: Form) -> list[list[str]] | None:
        """Remove and return the selections of a form whose questions are all answered; else None."""
        if any(question.question_id not in self._selections for question in form):
            return None
        return [self._selections.pop(question.question_id) for question in form]

    def discard(self, form: Form) -> None:
        """Forget the answers to a form."""
        for question in form:
            self._selections.pop(question.question_id, None)


def _selections(question: PendingQuestion, answers: Answer) -> list[str]:
    """The answer as texts; numbers and truth values are written as in JSON."""
    if isinstance(answers, (str, int, float)):
        return [answers if isinstance(answers, str) else json.dumps(answers)]
    try:
        return [text for answer in answers for text in ([answer] if isinstance(answer, str) else answer)]
    except TypeError:
        expected = "a text, a number, True, False or a list of texts"
        raise InvalidAnswerError(question.question_id, f"an answer is {expected}, not {answers!r}") from None
