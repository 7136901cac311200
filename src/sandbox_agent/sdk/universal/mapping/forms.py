"""Reading questions: question requests of this product, form elicitations and plan approvals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text, json_text
from sandbox_agent.sdk.universal.meta import tool_name_of
from sandbox_agent.sdk.universal.user_requests import PendingQuestion, PermissionOption, QuestionOption

PLAN_TOOL = "ExitPlanMode"
NewId = Callable[[], str]


def read_permission_options(params: dict[str, Any]) -> list[PermissionOption]:
    """The options of a permission request; entries without an id are ignored."""
    return [
        PermissionOption(
            option_id, as_text(option.get("name")) or option_id, as_text(option.get("kind")) or ""
        )
        for option in map(as_dict, as_list(params.get("options")))
        if (option_id := as_text(option.get("optionId")))
    ]


def read_question(request_id: Any, params: dict[str, Any], new_id: NewId) -> PendingQuestion | None:
    """The question of `_sandboxagent/session/request_question`, or `None` if it has no prompt."""
    prompt = params.get("prompt")
    if not isinstance(prompt, str):
        return None
    return PendingQuestion(
        question_id=as_text(params.get("questionId")) or as_text(params.get("question_id")) or new_id(),
        request_id=request_id,
        origin="question",
        prompt=prompt,
        options=[option for o in as_list(params.get("options")) if (option := _question_option(o))],
        multi_select=params.get("multiSelect") is True,
    )


def read_form(request_id: Any, params: dict[str, Any], new_id: NewId) -> list[PendingQuestion] | None:
    """One question per field of a form elicitation, or `None` if the request is not a form."""
    message, schema = params.get("message"), params.get("requestedSchema")
    if params.get("mode", "form") != "form" or not isinstance(message, str) or not isinstance(schema, dict):
        return None
    fields = as_dict(schema.get("properties"))
    if not fields:
        return [
            PendingQuestion(
                question_id=new_id(), request_id=request_id, origin="elicitation", prompt=message, options=[]
            )
        ]
    required = as_list(schema.get("required"))
    return [
        _field_question(name, as_dict(field), message, name in required, request_id, new_id())
        for name, field in fields.items()
    ]


def is_plan_approval(tool_call: dict[str, Any], known: dict[str, Any]) -> bool:
    """Whether a permission request asks to leave plan mode; `known` has earlier facts about the tool."""
    named = (tool_name_of(tool_call), tool_call.get("title"), known.get("toolName"))
    return PLAN_TOOL in named or "switch_mode" in (tool_call.get("kind"), known.get("kind"))


def read_plan(
    request_id: Any, tool_call: dict[str, Any], options: list[PermissionOption], question_id: str
) -> PendingQuestion:
    """A plan approval as a question whose options are the names of the permission options."""
    title = as_text(tool_call.get("title")) or "Approve the plan?"
    plan = as_text(as_dict(tool_call.get("rawInput")).get("plan"))
    return PendingQuestion(
        question_id=question_id,
        request_id=request_id,
        origin="plan",
        prompt=f"{title}\n\n{plan}" if plan else title,
        options=[QuestionOption(option.name, option.name) for option in options],
        permission_options=options,
    )


def _question_option(option: Any) -> QuestionOption | None:
    """An option as `[value, label]`, as plain text, or as `{value | id, label, description}`."""
    if isinstance(option, str):
        return QuestionOption(option, option)
    if isinstance(option, list) and option and isinstance(option[0], str):
        label = option[1] if len(option) > 1 and isinstance(option[1], str) else option[0]
        return QuestionOption(option[0], label)
    fields = as_dict(option)
    value = as_text(fields.get("value")) or as_text(fields.get("id")) or as_text(fields.get("label"))
    if value is None:
        return None
    return QuestionOption(value, as_text(fields.get("label")) or value, as_text(fields.get("description")))


def _field_question(
    name: str, field: dict[str, Any], message: str, required: bool, request_id: Any, question_id: str
) -> PendingQuestion:
    value_type = field.get("type") if isinstance(field.get("type"), str) else "string"
    choices = as_dict(field.get("items")) if value_type == "array" else field
    # Agents put the question into the message, the title or the description: keep all three.
    lines = [message, as_text(field.get("title")), as_text(field.get("description"))]
    return PendingQuestion(
        question_id=question_id,
        request_id=request_id,
        origin="elicitation",
        prompt="\n".join(dict.fromkeys(line for line in lines if line)),
        options=_choices(choices, value_type),
        multi_select=value_type == "array",
        required=required,
        property=name,
        value_type=value_type or "string",
    )


def _choices(field: dict[str, Any], value_type: Any) -> list[QuestionOption]:
    if value_type == "boolean":
        return [QuestionOption("true", "true"), QuestionOption("false", "false")]
    titled = [as_dict(choice) for choice in as_list(field.get("oneOf")) or as_list(field.get("anyOf"))]
    if titled:
        values = [(choice, answer_text(choice.get("const"))) for choice in titled]
        return [
            QuestionOption(value, as_text(choice.get("title")) or value, as_text(choice.get("description")))
            for choice, value in values
            if value is not None
        ]
    texts = [answer_text(value) for value in as_list(field.get("enum"))]
    return [QuestionOption(value, value) for value in texts if value is not None]


def answer_text(value: Any) -> str | None:
    """A value as the text of an answer: the first one of a list; JSON text if it is not a string."""
    if isinstance(value, list):
        value = value[0] if value else None
    if value is None or isinstance(value, str):
        return value
    return json_text(value)
