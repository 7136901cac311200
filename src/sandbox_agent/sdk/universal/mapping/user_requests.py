"""Permissions and questions: from the agent's request to the client's answer.

Every request is resolved once: by the client's response, by the agent (`$/cancel_request`), or because the
session ended. A form with several fields gives several questions.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import (
    PermissionData,
    PermissionStatus,
    QuestionData,
    QuestionStatus,
)
from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.forms import (
    answer_text,
    is_choice,
    read_choice,
    read_form,
    read_permission_options,
    read_question,
)
from sandbox_agent.sdk.universal.mapping.items.tool_items import Tools
from sandbox_agent.sdk.universal.mapping.vendor_questions import read_grok, read_qwen
from sandbox_agent.sdk.universal.meta import product_meta
from sandbox_agent.sdk.universal.user_request_models import (
    NO_OPTION,
    PendingPermission,
    PendingQuestion,
    PermissionOption,
)

_STATUS_OF_KIND: dict[str, PermissionStatus] = {
    "allow_once": "accept",
    "allow_always": "accept_for_session",
    "reject_once": "reject",
    "reject_always": "reject",
}


class PendingState(Struct):
    """The requests without an answer, by their legacy id."""

    permissions: dict[str, PendingPermission] = {}
    questions: dict[str, PendingQuestion] = {}


class UserRequests:
    """The pending requests of the agent to its user."""

    def __init__(self, out: Emitter, tools: Tools, state: PendingState) -> None:
        self._out = out
        self._tools = tools
        self.permissions = state.permissions
        self.questions = state.questions

    def request_permission(self, request_id: Any, params: dict[str, Any]) -> bool:
        """Map `session/request_permission`; returns whether it could be read."""
        tool_call = params.get("toolCall")
        if not isinstance(tool_call, dict) or not isinstance(params.get("options"), list):
            return False
        options = read_permission_options(params)
        # ACP's `toolCall` is an update here: what it leaves out was said before.
        self._tools.requested(tool_call)
        known = self._tools.facts(as_text(tool_call.get("toolCallId")))
        tool_call = {key: value for key, value in tool_call.items() if value is not None}
        if tool_call.get("kind") == "other" and "kind" in known:
            del tool_call["kind"]  # of a right that the call needs, such as a directory; the call says more
        tool_call |= {key: value for key, value in known.items() if key not in tool_call}
        if isinstance(tool_call.get("rawInput"), dict):
            tool_call["rawInput"] = {**as_dict(known.get("rawInput")), **tool_call["rawInput"]}
        asked = as_text(params.get("title"))  # only ACP v2 has one
        if asked and not tool_call.get("title"):
            tool_call["title"] = asked
        if questions := read_qwen(request_id, tool_call, options, self._new_question_id):
            for question in questions:
                self._ask(question, synthetic=True)
            return True
        if is_choice(tool_call, options):
            self._ask(read_choice(request_id, tool_call, options, self._new_question_id()), synthetic=True)
            return True
        named = as_text(as_dict(product_meta(params).get("permission")).get("permissionId"))
        pending = PendingPermission(
            permission_id=named if named and named not in self.permissions else self._out.new_id("perm"),
            request_id=request_id,
            action=_action({**tool_call, "title": asked} if asked else tool_call),
            tool_call=tool_call,
            options=options,
            metadata={"request_id": request_id, "tool_call": tool_call, "options": params["options"]},
            time=self._out.time,
            raw_request=params,
        )
        self.permissions[pending.permission_id] = pending
        self._out.emit("permission.requested", _permission_data(pending, "requested", {}))
        return True

    def request_question(self, request_id: Any, params: dict[str, Any]) -> bool:
        """Map `_sandboxagent/session/request_question`; returns whether it could be read."""
        question = read_question(request_id, params, self._new_question_id)
        if question is None or question.question_id in self.questions:
            return False
        self._ask(question, synthetic=False)
        return True

    def request_form(self, request_id: Any, params: dict[str, Any]) -> bool:
        """Map `elicitation/create`; returns whether it is a form."""
        questions = read_form(request_id, params, self._new_question_id)
        for question in questions or ():
            self._ask(question, synthetic=False)
        return questions is not None

    def request_grok(self, request_id: Any, params: dict[str, Any]) -> bool:
        """Map the question request of Grok; returns whether it asks anything."""
        questions = read_grok(request_id, params, self._new_question_id)
        for question in questions:
            self._ask(question, synthetic=False)
        return bool(questions)

    def answer(self, request_id: Any, result: dict[str, Any]) -> None:
        """Map the client's response to a request; an empty result stands for an error."""
        for permission in self._permissions_of(request_id):
            self._resolve_permission(permission, result)
        for question in self._questions_of(request_id):
            status, response = _question_outcome(question, result)
            self._resolve_question(question, status, response)

    def withdraw(self, request_id: Any) -> bool:
        """Map `$/cancel_request`; returns whether the request was pending."""
        found = bool(self._permissions_of(request_id) or self._questions_of(request_id))
        self.answer(request_id, {})
        return found

    def reject_all(self) -> None:
        """Reject every pending request: no answer can come any more."""
        waiting: list[PendingPermission | PendingQuestion] = [
            *self.permissions.values(),
            *self.questions.values(),
        ]
        for pending in waiting:
            self.answer(pending.request_id, {})

    def _new_question_id(self) -> str:
        return self._out.new_id("quest")

    def _permissions_of(self, request_id: Any) -> list[PendingPermission]:
        key = json_text(request_id)
        return [p for p in self.permissions.values() if json_text(p.request_id) == key]

    def _questions_of(self, request_id: Any) -> list[PendingQuestion]:
        key = json_text(request_id)
        return [q for q in self.questions.values() if json_text(q.request_id) == key]

    def _ask(self, question: PendingQuestion, *, synthetic: bool) -> None:
        self.questions[question.question_id] = question
        self._out.emit("question.requested", _question_data(question, "requested", None), synthetic=synthetic)

    def _resolve_permission(self, pending: PendingPermission, result: dict[str, Any]) -> None:
        del self.permissions[pending.permission_id]
        option_id = _selected(result)
        if option_id is None:
            data = _permission_data(pending, "reject", {"cancelled": True})
        else:
            option = next((o for o in pending.options if o.option_id == option_id), None)
            extra: dict[str, Any] = {"selected_option": _option_json(option, option_id)}
            if (fallback := product_meta(result).get("fallback")) is not None:
                extra["fallback"] = fallback
            recorded = as_dict(product_meta(result).get("permission")).get("status")
            status = _permission_status(option, option_id, recorded)
            data = _permission_data(pending, status, extra)
        self._out.emit("permission.resolved", data, synthetic=True)
        if data.status == "reject":
            self._tools.rejected(pending.tool_call, by_choice=option_id is not None)

    def _resolve_question(
        self, question: PendingQuestion, status: QuestionStatus, response: str | None
    ) -> None:
        del self.questions[question.question_id]
        self._out.emit("question.resolved", _question_data(question, status, response), synthetic=True)


def _action(tool_call: dict[str, Any]) -> str:
    """What the agent wants to do: its title, with the command if the title does not show it."""
    words = [as_text(tool_call.get(key)) for key in ("title", "name", "kind", "toolCallId")]
    action = next((word for word in words if word), "")
    arguments = as_dict(tool_call.get("rawInput"))
    command = arguments.get("command") or arguments.get("cmd")
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    if isinstance(command, str) and command and command not in action:
        return f"{action}: {command}"
    return action


def _selected(result: dict[str, Any]) -> str | None:
    outcome = as_dict(result.get("outcome"))
    option_id = outcome.get("optionId")
    return option_id if outcome.get("outcome") == "selected" and isinstance(option_id, str) else None


def _permission_status(option: PermissionOption | None, option_id: str, recorded: Any) -> PermissionStatus:
    """The legacy status of a selection: by the option's kind, by its id, else as the reply states."""
    for name in (option.kind if option else "", option_id):
        if name in _STATUS_OF_KIND:
            return _STATUS_OF_KIND[name]
    # An option of unknown kind grants nothing.
    return recorded if recorded in ("accept", "accept_for_session") else "reject"


def _option_json(option: PermissionOption | None, option_id: str) -> dict[str, Any]:
    if option is None:
        return {"optionId": option_id}
    return {"optionId": option.option_id, "name": option.name, "kind": option.kind}


def _permission_data(
    pending: PendingPermission, status: PermissionStatus, extra: dict[str, Any]
) -> PermissionData:
    return PermissionData(pending.permission_id, pending.action, status, {**pending.metadata, **extra})


def _question_data(question: PendingQuestion, status: QuestionStatus, response: str | None) -> QuestionData:
    options = [option.value for option in question.options]
    return QuestionData(question.question_id, question.prompt, options, response, status)


def _question_outcome(question: PendingQuestion, result: dict[str, Any]) -> tuple[QuestionStatus, str | None]:
    """How a response answers a question: as a question request, a form or a permission."""
    if question.origin == "plan":
        option_id = _selected(result)
        option = next((o for o in question.permission_options if o.option_id == option_id), None)
        if option is None or option.kind.startswith("reject"):
            return "rejected", None
        return "answered", option.name
    if question.origin == "elicitation":
        if result.get("action") != "accept":
            return "rejected", None
        content = as_dict(result.get("content"))
        free_text = answer_text(content.get(question.other_property or ""))
        chosen = answer_text(content.get(question.property or ""))
        return "answered", free_text if chosen in (None, NO_OPTION) and free_text else chosen
    if question.origin in ("qwen", "grok"):
        answers = result.get("answers")
        if not isinstance(answers, dict):
            return "rejected", None
        return "answered", answer_text(answers.get(question.property or ""))
    mirror = product_meta(result)
    outcome = result.get("status") or result.get("outcome") or mirror.get("outcome")
    if outcome != "answered":
        return "rejected", None
    given = as_list(result.get("answers")) or as_list(mirror.get("answers"))
    return "answered", answer_text(given[0]) if given else None
