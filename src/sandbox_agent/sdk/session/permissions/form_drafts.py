"""Answers to the questions of a form, collected until all are given.

A form field for free text can be the companion of another field (`choice` and `choice_note`): it is not
asked separately, and takes an answer outside the options of its main question.
"""

from __future__ import annotations

from collections.abc import Sequence

from sandbox_agent.sdk.errors import InvalidAnswerError
from sandbox_agent.sdk.session.permissions.question import Answer
from sandbox_agent.sdk.universal import replies
from sandbox_agent.sdk.universal.user_requests import PendingQuestion

# Suffixes that agents append to the name of a field for the name of its companion.
COMPANION_SUFFIXES = ("_custom", "_note", "_other")

Form = Sequence[PendingQuestion]


class FormDrafts:
    """The answers of incomplete forms, by question id."""

    def __init__(self) -> None:
        self._selections: dict[str, list[str]] = {}

    def add(self, question: PendingQuestion, form: Form, answers: Answer) -> None:
        """Keep the answer to one question; raises `InvalidAnswerError` if it does not fit."""
        chosen = _flatten(answers)
        try:
            replies.question_result([question], [chosen])
        except InvalidAnswerError:
            free_text = companion(question, form)
            if free_text is None or len(chosen) != 1:
                raise
            self._selections[free_text.question_id] = chosen
            chosen = []
        self._selections[question.question_id] = chosen

    def take_complete(self, form: Form) -> list[list[str]] | None:
        """Remove and return the selections of a form whose questions are all answered; else None."""
        if any(one.question_id not in self._selections for one in form if main_question(one, form) is None):
            return None
        return [self._selections.pop(one.question_id, []) for one in form]

    def discard(self, form: Form) -> None:
        """Forget the answers to a form."""
        for question in form:
            self._selections.pop(question.question_id, None)


def main_question(question: PendingQuestion, form: Form) -> PendingQuestion | None:
    """The question whose companion this one is; None for a question that is asked by itself."""
    if question.options or question.required or question.property is None:
        return None
    for suffix in COMPANION_SUFFIXES:
        name = question.property.removesuffix(suffix)
        if name != question.property:
            return next((one for one in form if one.property == name), None)
    return None


def companion(question: PendingQuestion, form: Form) -> PendingQuestion | None:
    """The companion of a question; None if it has none."""
    return next((one for one in form if main_question(one, form) is question), None)


def _flatten(answers: Answer) -> list[str]:
    if isinstance(answers, str):
        return [answers]
    return [text for answer in answers for text in ([answer] if isinstance(answer, str) else answer)]
