"""Answers to the agent: the `result` of the JSON-RPC response, built from the pending request alone.

Each answer repeats its legacy meaning in `_meta["sandboxagent.dev"]`, so a stored reply can be read back as
`permission.resolved` or `question.resolved`. The questions of a form are answered together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sandbox_agent.sdk.errors import InvalidAnswerError, UnsupportedPermissionReplyError
from sandbox_agent.sdk.universal.event_data import PermissionStatus, QuestionStatus
from sandbox_agent.sdk.universal.meta import product_meta, with_meta
from sandbox_agent.sdk.universal.user_request_models import (
    NO_OPTION,
    PendingPermission,
    PendingQuestion,
    PermissionOption,
)

Answers = str | Sequence[str] | Sequence[Sequence[str]]

_WANTED_KINDS = {
    "once": ("allow_once",),
    "always": ("allow_always", "allow_once"),
    "reject": ("reject_once", "reject_always"),
}
_STATUS: dict[str, PermissionStatus] = {"allow_once": "accept", "allow_always": "accept_for_session"}
_CANCELLED = {"outcome": {"outcome": "cancelled"}}


def permission_result(pending: PendingPermission, reply: str) -> dict[str, Any]:
    """Answer a permission with `once`, `always`, `reject` or the id of an option.

    Raises `UnsupportedPermissionReplyError` if the agent offers no such option.
    """
    option = choose_option(pending.options, reply)
    if option is None:
        offered = [f"{o.option_id} ({o.kind})" if o.kind else o.option_id for o in pending.options]
        raise UnsupportedPermissionReplyError(pending.permission_id, reply, offered)
    kind = option.kind or option.option_id
    weaker = reply == "always" and kind == "allow_once"
    return with_meta(
        _selected(option),
        permission={
            "permissionId": pending.permission_id,
            "optionId": option.option_id,
            "status": _STATUS.get(
                kind, "reject" if kind.startswith("reject") or reply == "reject" else "accept"
            ),
        },
        fallback="allow_once" if weaker else None,
    )


def allowed_permission(
    pending: PendingPermission, reply: str, raw_input: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Allow a tool, with a changed input in `_meta`: ACP has no field for it, and few agents read it."""
    changed = None if raw_input is None else dict(raw_input)
    return with_meta(permission_result(pending, reply), updatedInput=changed)


def denied_permission(pending: PendingPermission, reason: str) -> dict[str, Any]:
    """Reject a permission with a reason, which ACP has no field for; as cancelled if no option rejects."""
    if choose_option(pending.options, "reject") is None:
        return cancelled_permission(pending)
    result = permission_result(pending, "reject")
    known = product_meta(result).get("permission") or {}
    return with_meta(result, permission={**known, "reason": reason}) if reason else result


def cancelled_permission(pending: PendingPermission) -> dict[str, Any]:
    """Answer a permission as cancelled, as ACP requires when the turn is cancelled."""
    return with_meta(
        _CANCELLED, permission={"permissionId": pending.permission_id, "optionId": None, "status": "reject"}
    )


def choose_option(options: Sequence[PermissionOption], reply: str) -> PermissionOption | None:
    """The option for a reply: by kind first, then by option id."""
    for kind in _WANTED_KINDS.get(reply, ()):
        for option in options:
            if option.kind == kind:
                return option
        for option in options:
            if option.option_id == kind:
                return option
    return next((option for option in options if option.option_id == reply), None)


def question_result(questions: Sequence[PendingQuestion], answers: Answers) -> dict[str, Any]:
    """Answer all questions of one request.

    For one question `answers` is a text or a list of selections; for several it has one entry per question.
    Selections are values or labels; others are refused unless the question allows them.

    Raises `InvalidAnswerError` if an answer does not fit.
    """
    chosen = [
        _check_answer(question, selections)
        for question, selections in zip(questions, _per_question(questions, answers), strict=True)
    ]
    first = questions[0]
    mirror = {"question": _question_meta(questions, "answered", chosen)}
    if first.origin == "question":
        return with_meta(
            {"status": "answered", "answers": chosen}, outcome="answered", answers=chosen, **mirror
        )
    if first.origin == "plan":
        option = next(o for o in first.permission_options if chosen[0][0] in (o.name, o.option_id))
        return with_meta(_selected(option), **mirror)
    if first.origin in ("qwen", "grok"):
        named = {
            question.property: ", ".join(selections)
            for question, selections in zip(questions, chosen, strict=True)
            if selections
        }
        return with_meta({**_submitted(first), "answers": named}, **mirror)
    content: dict[str, Any] = {}
    for question, selections in zip(questions, chosen, strict=True):
        content |= _field_values(question, selections)
    return with_meta({"action": "accept", "content": content}, **mirror)


def rejected_question(questions: Sequence[PendingQuestion]) -> dict[str, Any]:
    """Reject all questions of one request."""
    first = questions[0]
    mirror = {"question": _question_meta(questions, "rejected", [])}
    if first.origin == "question":
        return with_meta({"status": "rejected"}, outcome="rejected", **mirror)
    if first.origin == "elicitation":
        return with_meta({"action": "decline"}, **mirror)
    if first.origin == "grok":
        return with_meta({"outcome": "cancelled"}, **mirror)
    option = choose_option(first.permission_options, "reject")
    return with_meta(_selected(option) if option else _CANCELLED, **mirror)


def cancelled_question(questions: Sequence[PendingQuestion]) -> dict[str, Any]:
    """Answer the questions of a turn that was cancelled, or of a session that ended."""
    mirror = {"question": _question_meta(questions, "rejected", [])}
    if questions[0].origin == "elicitation":
        return with_meta({"action": "cancel"}, **mirror)
    by_permission = questions[0].origin in ("plan", "qwen")
    return with_meta(_CANCELLED, **mirror) if by_permission else rejected_question(questions)


def _selected(option: PermissionOption) -> dict[str, Any]:
    return {"outcome": {"outcome": "selected", "optionId": option.option_id}}


def _submitted(question: PendingQuestion) -> dict[str, Any]:
    """The outcome that goes with the answers to an agent's own form of questions."""
    if question.origin == "grok":
        return {"outcome": "accepted"}
    option = choose_option(question.permission_options, "once")
    return _selected(option or PermissionOption("proceed_once", "", "allow_once"))


def _field_values(question: PendingQuestion, selections: list[str]) -> dict[str, Any]:
    """The fields of a form that one answer fills: the options, and the field for free text beside them."""
    if question.property is None or not selections:
        return {}
    offered = [option.value for option in question.options]
    if question.other_property is None or not offered:
        return {question.property: _typed(question, selections)}
    chosen = [value for value in selections if value in offered]
    free_text = [value for value in selections if value not in offered]
    if free_text and not chosen and question.required and NO_OPTION in offered:
        chosen = [NO_OPTION]
    values: dict[str, Any] = {question.property: _typed(question, chosen)} if chosen else {}
    return values | ({question.other_property: ", ".join(free_text)} if free_text else {})


def _per_question(questions: Sequence[PendingQuestion], answers: Answers) -> list[list[str]]:
    if isinstance(answers, str):
        given: list[list[str]] = [[answers]]
    elif len(questions) == 1 and all(isinstance(answer, str) for answer in answers):
        given = [[answer for answer in answers if isinstance(answer, str)]]
    else:
        given = [[answer] if isinstance(answer, str) else list(answer) for answer in answers]
    if len(given) > len(questions):
        raise InvalidAnswerError(
            questions[0].question_id, f"{len(given)} answers for {len(questions)} question(s)"
        )
    return given + [[] for _ in range(len(questions) - len(given))]


def _check_answer(question: PendingQuestion, selections: list[str]) -> list[str]:
    if len(selections) > 1 and not question.multi_select:
        raise InvalidAnswerError(question.question_id, "takes one answer only")
    if not selections and question.required and question.origin != "question":
        raise InvalidAnswerError(question.question_id, "needs an answer")
    return [_value_of(question, selection) for selection in selections]


def _value_of(question: PendingQuestion, selection: str) -> str:
    values = {option.value: option.value for option in question.options}
    labels = {option.label: option.value for option in question.options}
    ids = {option.option_id: option.name for option in question.permission_options}
    value = values.get(selection) or ids.get(selection) or labels.get(selection)
    if value is None and question.options and not question.allow_other:
        raise InvalidAnswerError(
            question.question_id, f"{selection!r} is not offered; choose from {', '.join(values)}"
        )
    return selection if value is None else value


def _typed(question: PendingQuestion, selections: list[str]) -> Any:
    if question.multi_select:
        return selections
    text = selections[0]
    try:
        match question.value_type:
            case "boolean":
                return text == "true"
            case "integer":
                return int(text)
            case "number":
                return float(text)
    except ValueError:
        raise InvalidAnswerError(
            question.question_id, f"{text!r} is not of type {question.value_type}"
        ) from None
    return text


def _question_meta(
    questions: Sequence[PendingQuestion], status: QuestionStatus, chosen: Sequence[Sequence[str]]
) -> Any:
    responses = [selections[0] if selections else None for selections in chosen] or [None] * len(questions)
    entries = [
        {"questionId": question.question_id, "response": response, "status": status}
        for question, response in zip(questions, responses, strict=True)
    ]
    return entries[0] if len(entries) == 1 else entries
