"""Reading questions: question requests of this product, form elicitations and plan approvals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.items.content import block_text
from sandbox_agent.sdk.universal.meta import tool_name_of
from sandbox_agent.sdk.universal.user_request_models import PendingQuestion, PermissionOption, QuestionOption

PLAN_TOOL = "ExitPlanMode"
_ANSWER_OPTION = re.compile(r"q\d+_opt_\d+")
"""The options of a question that Kimi Code asks a client without forms."""
_NUMBERED = re.compile(r"(q|question_)\d+")
"""The fields of a form that asks questions; their titles are headers."""
_OTHER_SUFFIXES = ("_custom", "_note", "_other")
"""What agents append to the name of a field for the one beside it that takes free text."""
_STOCK_PHRASES = (
    "Codex needs your input to continue.",
    "Please answer the following questions.",
    "User input required",
)
"""Messages of forms that only say that questions follow."""
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
        allow_other=params.get("allowOther") is True,
    )


def read_form(request_id: Any, params: dict[str, Any], new_id: NewId) -> list[PendingQuestion] | None:
    """The questions of an elicitation, or `None` if it is neither a form nor a page to visit.

    A page is a question without options, whose prompt ends with the address. A field for free text beside
    another one (`choice` and `choice_note`) is no question of its own: it takes an answer outside the
    options.
    """
    message, schema, url = params.get("message"), params.get("requestedSchema"), params.get("url")
    if params.get("mode") == "url" and isinstance(message, str) and isinstance(url, str):
        message, schema, params = f"{message}\n{url}", {}, {}
    if params.get("mode", "form") != "form" or not isinstance(message, str) or not isinstance(schema, dict):
        return None
    fields = {name: as_dict(field) for name, field in as_dict(schema.get("properties")).items()}
    if not fields:
        return [
            PendingQuestion(
                question_id=new_id(), request_id=request_id, origin="elicitation", prompt=message, options=[]
            )
        ]
    required = as_list(schema.get("required"))
    others = {main: name for name in fields if (main := _main_field(name, fields)) and name not in required}
    questions = [name for name in fields if name not in others.values()]
    return [
        PendingQuestion(
            question_id=new_id(),
            request_id=request_id,
            origin="elicitation",
            prompt=_prompt(message, name, fields[name], alone=len(questions) == 1),
            options=_options(fields[name]),
            multi_select=_type(fields[name]) == "array",
            required=name in required,
            property=name,
            allow_other=name in others,
            other_property=others.get(name),
            value_type=_type(fields[name]),
        )
        for name in questions
    ]


def is_choice(tool_call: dict[str, Any], options: list[PermissionOption]) -> bool:
    """Whether a permission request is a question: it leaves plan mode, or its options are answers."""
    return is_plan(tool_call) or any(_ANSWER_OPTION.fullmatch(option.option_id) for option in options)


def is_plan(tool_call: dict[str, Any]) -> bool:
    """Whether a call leaves plan mode."""
    named = (tool_name_of(tool_call), tool_call.get("title"))
    return PLAN_TOOL in named or tool_call.get("kind") == "switch_mode"


def read_choice(
    request_id: Any, tool_call: dict[str, Any], options: list[PermissionOption], question_id: str
) -> PendingQuestion:
    """A permission request as a question whose options are the names of the permission options."""
    title = as_text(tool_call.get("title")) or "Approve the plan?"
    texts = [block_text(as_dict(c).get("content")) for c in as_list(tool_call.get("content"))]
    shown = "\n".join(text for text in texts if text)
    plan = as_text(as_dict(tool_call.get("rawInput")).get("plan")) or shown
    if plan and not is_plan(tool_call):
        title = ""  # the name of the agent's tool for questions
    return PendingQuestion(
        question_id=question_id,
        request_id=request_id,
        origin="plan",
        prompt="\n\n".join(filter(None, (title, plan))),
        options=[QuestionOption(option.name, option.name) for option in options],
        permission_options=options,
    )


def _question_option(option: Any) -> QuestionOption | None:
    """An option as `[value, label, description]` without or with its last parts, as plain text, or as
    `{value | id, label, description}`.
    """
    if isinstance(option, str):
        return QuestionOption(option, option)
    if isinstance(option, list) and option and isinstance(option[0], str):
        label, description = [as_text(part) for part in [*option[1:3], None, None][:2]]
        return QuestionOption(option[0], label or option[0], description)
    fields = as_dict(option)
    value = as_text(fields.get("value")) or as_text(fields.get("id")) or as_text(fields.get("label"))
    if value is None:
        return None
    return QuestionOption(value, as_text(fields.get("label")) or value, as_text(fields.get("description")))


def _main_field(name: str, fields: dict[str, dict[str, Any]]) -> str | None:
    """The field beside which this one takes free text; None for a field of its own."""
    if _options(fields[name]):
        return None
    mains = [name.removesuffix(suffix) for suffix in _OTHER_SUFFIXES if name.endswith(suffix)]
    return next((main for main in mains if main in fields), None)


def _prompt(message: str, name: str, field: dict[str, Any], *, alone: bool) -> str:
    """The question of a field; agents put it into the message, the title or the description.

    The other lines are dropped where they say nothing more: a stock phrase, or the header of a question.
    """
    title, description = as_text(field.get("title")), as_text(field.get("description"))
    said = message.split("\n")
    own = [line for line in (title, description) if line]
    asked = [line for line in own if line.rstrip().endswith("?") or line in said]
    if asked:
        own = asked
    elif _NUMBERED.fullmatch(name):
        own = [description] if description else []
    elif alone and message.rstrip().endswith("?"):
        own = []
    repeated = message in _STOCK_PHRASES or any(line in said for line in own)
    return "\n".join(dict.fromkeys(own if own and repeated else [message, *own]))


def _type(field: dict[str, Any]) -> str:
    return as_text(field.get("type")) or "string"


def _options(field: dict[str, Any]) -> list[QuestionOption]:
    value_type = _type(field)
    return _choices(as_dict(field.get("items")) if value_type == "array" else field, value_type)


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
