"""Answers to permissions and questions: the ACP responses, and how the mapper reads them back."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_agent.sdk.errors import InvalidAnswerError, UnsupportedPermissionReplyError
from sandbox_agent.sdk.universal import PendingPermission, PendingQuestion, UniversalMapper, replies


def options(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"optionId": option_id, "name": option_id.title(), "kind": kind} for option_id, kind in pairs]


def ask_permission(*pairs: tuple[str, str], kind: str = "execute") -> tuple[UniversalMapper, Any]:
    mapper = UniversalMapper("s1")
    params = {"toolCall": {"toolCallId": "t1", "title": "Run", "kind": kind}, "options": options(*pairs)}
    request = {"jsonrpc": "2.0", "id": 5, "method": "session/request_permission", "params": params}
    mapper.feed(request, "agent", time=0)
    return mapper, next(iter([*mapper.pending_permissions.values(), *mapper.pending_questions.values()]))


def resolve(mapper: UniversalMapper, pending: Any, result: dict[str, Any]) -> Any:
    event, *_ = mapper.feed({"jsonrpc": "2.0", "id": pending.request_id, "result": result}, "client", time=0)
    return event.data


USUAL = (("a", "allow_once"), ("b", "allow_always"), ("c", "reject_once"), ("d", "reject_always"))


@pytest.mark.clause("spec2-3.3-permission-reply", "decision-35")
@pytest.mark.parametrize(
    ("offered", "reply", "taken", "status"),
    [
        (USUAL, "once", "a", "accept"),
        (USUAL, "always", "b", "accept_for_session"),
        (USUAL, "reject", "c", "reject"),
        (USUAL, "d", "d", "reject"),
        (USUAL[:1], "always", "a", "accept"),
        (USUAL[3:], "reject", "d", "reject"),
        # by kind first: the id `once` here means something else
        ((("once", "reject_once"), ("x", "allow_once")), "once", "x", "accept"),
        # then by id
        ((("allow_once", ""), ("reject_once", "")), "once", "allow_once", "accept"),
        ((("allow_once", ""), ("reject_once", "")), "reject", "reject_once", "reject"),
        # a kind that occurs twice: the first
        ((("x", "allow_always"), ("y", "allow_always")), "always", "x", "accept_for_session"),
        ((("reject", "nonsense"),), "reject", "reject", "reject"),
        ((("approved", "nonsense"),), "approved", "approved", "accept"),
    ],
)
def test_a_reply_takes_the_right_option(offered: Any, reply: str, taken: str, status: str) -> None:
    mapper, pending = ask_permission(*offered)
    result = replies.permission_result(pending, reply)
    assert result["outcome"] == {"outcome": "selected", "optionId": taken}
    assert result["_meta"]["sandboxagent.dev"]["permission"] == {
        "permissionId": "perm_1",
        "optionId": taken,
        "status": status,
    }
    data = resolve(mapper, pending, result)
    assert (data.permission_id, data.status) == ("perm_1", status)
    assert data.metadata["selected_option"]["optionId"] == taken
    assert mapper.pending_permissions == {}


@pytest.mark.clause("spec2-3.3-permission-reply", "decision-35")
def test_always_without_such_an_option_is_recorded_as_a_fallback() -> None:
    mapper, pending = ask_permission(("a", "allow_once"))
    result = replies.permission_result(pending, "always")
    assert result["_meta"]["sandboxagent.dev"]["fallback"] == "allow_once"
    assert resolve(mapper, pending, result).metadata["fallback"] == "allow_once"
    _, usual = ask_permission(*USUAL)
    assert "fallback" not in replies.permission_result(usual, "always")["_meta"]["sandboxagent.dev"]


@pytest.mark.clause("spec2-3.3-permission-reply")
@pytest.mark.parametrize("reply", ["once", "always", "nobody"])
def test_a_reply_nothing_fits_is_refused_and_the_request_stays_open(reply: str) -> None:
    mapper, pending = ask_permission(("c", "reject_once"))
    with pytest.raises(UnsupportedPermissionReplyError) as caught:
        replies.permission_result(pending, reply)
    assert caught.value.available == ["c (reject_once)"]
    assert list(mapper.pending_permissions) == ["perm_1"]


def test_a_cancelled_permission_is_cancelled_on_the_wire_and_rejected_in_the_record() -> None:
    mapper, pending = ask_permission(*USUAL)
    result = replies.cancelled_permission(pending)
    assert result["outcome"] == {"outcome": "cancelled"}
    data = resolve(mapper, pending, result)
    assert (data.status, data.metadata["cancelled"]) == ("reject", True)


def ask_question(params: dict[str, Any], method: str = "_sandboxagent/session/request_question") -> Any:
    mapper = UniversalMapper("s1")
    mapper.feed({"jsonrpc": "2.0", "id": "q-1", "method": method, "params": params}, "agent", time=0)
    return mapper, list(mapper.pending_questions.values())


PAIRS = {"questionId": "u1", "prompt": "Which?", "options": [["a", "Option A"], ["b", "Option B"]]}


@pytest.mark.clause("spec2-3.3-question-reply", "spec4-payload-shape")
@pytest.mark.parametrize("answers", ["a", "Option A", ["a"], [["a"]], [["Option A"]]])
def test_an_answer_by_value_or_label_is_sent_as_the_value(answers: Any) -> None:
    mapper, questions = ask_question(PAIRS)
    result = replies.question_result(questions, answers)
    assert result == {
        "status": "answered",
        "answers": [["a"]],
        "_meta": {
            "sandboxagent.dev": {
                "outcome": "answered",
                "answers": [["a"]],
                "question": {"questionId": "u1", "response": "a", "status": "answered"},
            }
        },
    }
    data = resolve(mapper, questions[0], result)
    assert (data.question_id, data.options, data.response, data.status) == ("u1", ["a", "b"], "a", "answered")


@pytest.mark.clause("spec2-3.3-question-reply", "spec4-payload-shape")
def test_a_rejected_question_has_the_shape_of_the_contract() -> None:
    mapper, questions = ask_question(PAIRS)
    result = replies.rejected_question(questions)
    assert result["status"] == "rejected"
    assert result["_meta"]["sandboxagent.dev"]["outcome"] == "rejected"
    assert resolve(mapper, questions[0], result).status == "rejected"
    assert replies.cancelled_question(questions)["status"] == "rejected"


@pytest.mark.clause("spec2-3.3-question-reply")
def test_several_selections_need_a_question_that_takes_several() -> None:
    _, one = ask_question(PAIRS)
    with pytest.raises(InvalidAnswerError, match="one answer only"):
        replies.question_result(one, ["a", "b"])
    _, many = ask_question({**PAIRS, "multiSelect": True})
    assert replies.question_result(many, ["a", "Option B"])["answers"] == [["a", "b"]]


def test_an_answer_that_is_not_offered_is_refused_unless_others_are_allowed() -> None:
    _, questions = ask_question(PAIRS)
    with pytest.raises(InvalidAnswerError, match="choose from a, b"):
        replies.question_result(questions, "c")
    _, open_ended = ask_question({**PAIRS, "allowOther": True})
    assert replies.question_result(open_ended, "c")["answers"] == [["c"]]
    with pytest.raises(InvalidAnswerError, match="2 answers for 1"):
        replies.question_result(questions, [["a"], ["b"]])


@pytest.mark.clause("spec4-payload-shape")
def test_a_question_without_options_takes_any_text() -> None:
    _, questions = ask_question({"questionId": "u1", "prompt": "Name?", "options": []})
    assert replies.question_result(questions, "Ada")["answers"] == [["Ada"]]


FORM = {
    "mode": "form",
    "message": "Fill in",
    "requestedSchema": {
        "properties": {
            "colour": {"type": "string", "oneOf": [{"const": "red", "title": "Red"}]},
            "sizes": {
                "type": "array",
                "items": {"anyOf": [{"const": "s", "title": "Small"}, {"const": "m"}]},
            },
            "sure": {"type": "boolean"},
            "count": {"type": "integer"},
            "weight": {"type": "number"},
            "note": {"type": "string"},
        },
        "required": ["colour"],
    },
}


@pytest.mark.clause("decision-34")
def test_a_form_is_answered_with_typed_content() -> None:
    mapper, questions = ask_question(FORM, "elicitation/create")
    result = replies.question_result(questions, [["Red"], ["Small", "m"], ["false"], ["3"], ["1.5"]])
    assert result["action"] == "accept"
    assert result["content"] == {
        "colour": "red",
        "sizes": ["s", "m"],
        "sure": False,
        "count": 3,
        "weight": 1.5,
    }
    reply = {"jsonrpc": "2.0", "id": "q-1", "result": result}
    resolved = [event.data.response for event in mapper.feed(reply, "client", time=0)]
    assert resolved == ["red", "s", "false", "3", "1.5", None]


@pytest.mark.clause("decision-34")
@pytest.mark.parametrize(
    ("answers", "complaint"),
    [
        ([[]], "needs an answer"),
        ([["red"], [], [], ["three"]], "integer"),
        ([["red"], ["x"]], "not offered"),
    ],
)
def test_a_form_refuses_what_does_not_fit(answers: Any, complaint: str) -> None:
    _, questions = ask_question(FORM, "elicitation/create")
    with pytest.raises(InvalidAnswerError, match=complaint):
        replies.question_result(questions, answers)


@pytest.mark.clause("decision-34")
def test_a_form_is_declined_or_cancelled() -> None:
    _, questions = ask_question(FORM, "elicitation/create")
    assert replies.rejected_question(questions)["action"] == "decline"
    assert replies.cancelled_question(questions)["action"] == "cancel"


PLAN = (("exit-plan-default", "allow_once"), ("reject", "reject_once"))


@pytest.mark.clause("spec3-plan-approval-is-a-question")
@pytest.mark.parametrize("answer", ["Exit-Plan-Default", "exit-plan-default"])
def test_a_plan_is_approved_by_name_or_option_id(answer: str) -> None:
    mapper, question = ask_permission(*PLAN, kind="switch_mode")
    assert isinstance(question, PendingQuestion)
    result = replies.question_result([question], answer)
    assert result["outcome"] == {"outcome": "selected", "optionId": "exit-plan-default"}
    assert resolve(mapper, question, result).response == "Exit-Plan-Default"


@pytest.mark.clause("spec3-plan-approval-is-a-question")
def test_a_plan_is_rejected_with_the_reject_option_or_cancelled_without_one() -> None:
    mapper, question = ask_permission(*PLAN, kind="switch_mode")
    result = replies.rejected_question([question])
    assert result["outcome"] == {"outcome": "selected", "optionId": "reject"}
    assert resolve(mapper, question, result).status == "rejected"
    _, bare = ask_permission(("go", "allow_once"), kind="switch_mode")
    assert replies.rejected_question([bare])["outcome"] == {"outcome": "cancelled"}
    assert replies.cancelled_question([question])["outcome"] == {"outcome": "cancelled"}
    with pytest.raises(InvalidAnswerError):
        replies.question_result([question], "something else")


def test_pending_requests_know_their_wire_id_and_labels() -> None:
    _, permission = ask_permission(*USUAL)
    assert isinstance(permission, PendingPermission)
    assert (permission.request_id, permission.options[1].kind) == (5, "allow_always")
    _, questions = ask_question(FORM, "elicitation/create")
    assert [q.property for q in questions] == ["colour", "sizes", "sure", "count", "weight", "note"]
    assert {q.request_id for q in questions} == {"q-1"}
    assert [(o.value, o.label) for o in questions[0].options] == [("red", "Red")]
    assert [q.required for q in questions] == [True, False, False, False, False, False]
