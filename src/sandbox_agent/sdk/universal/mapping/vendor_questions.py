"""Questions that agents ask in forms of their own.

Qwen Code marks a permission request as a question; its answer has `answers` beside the selected option.
Grok sends a request of its own. Both ask one or more questions at once, each with options.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text
from sandbox_agent.sdk.universal.user_request_models import PendingQuestion, PermissionOption, QuestionOption

GROK_METHODS = ("_x.ai/ask_user_question", "x.ai/ask_user_question")


def read_qwen(
    request_id: Any, tool_call: dict[str, Any], options: list[PermissionOption], new_id: Callable[[], str]
) -> list[PendingQuestion]:
    """The questions in a permission request of Qwen Code; empty for any other permission request."""
    meta = as_dict(tool_call.get("_meta"))
    if meta.get("qwenInteractionKind") != "user_question":
        return []
    asked = as_list(meta.get("qwenQuestions")) or as_list(as_dict(tool_call.get("rawInput")).get("questions"))
    return [
        _question("qwen", request_id, question, str(number), new_id(), options)
        for number, question in enumerate(map(as_dict, asked))
        if as_text(question.get("question"))
    ]


def read_grok(request_id: Any, params: dict[str, Any], new_id: Callable[[], str]) -> list[PendingQuestion]:
    """The questions of Grok; each is named by its text."""
    return [
        _question("grok", request_id, question, question["question"], new_id(), [])
        for question in map(as_dict, as_list(params.get("questions")))
        if as_text(question.get("question"))
    ]


def _question(
    origin: Literal["qwen", "grok"],
    request_id: Any,
    question: dict[str, Any],
    name: str,
    question_id: str,
    permission_options: list[PermissionOption],
) -> PendingQuestion:
    options = [
        QuestionOption(label, label, as_text(option.get("description")))
        for option in map(as_dict, as_list(question.get("options")))
        if (label := as_text(option.get("label")))
    ]
    return PendingQuestion(
        question_id=question_id,
        request_id=request_id,
        origin=origin,
        prompt=question["question"],
        options=options,
        multi_select=question.get("multiSelect") is True,
        property=name,
        allow_other=True,
        permission_options=permission_options,
    )
