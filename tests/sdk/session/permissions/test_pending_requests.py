"""Permissions and questions: callbacks, replies without a callback, cancellation, time limits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sandbox_agent import (
    REJECT,
    AsyncSandboxAgent,
    AsyncSession,
    CallbackError,
    InvalidAnswerError,
    PermissionNotFoundError,
    PermissionRequest,
    Question,
    QuestionNotFoundError,
    UnsupportedPermissionReplyError,
    allow_kinds,
    auto_approve,
    auto_reject,
)
from sandbox_agent.sdk.universal import (
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
)

ONCE = {"outcome": {"outcome": "selected", "optionId": "allow-once"}}


async def resolved(session: AsyncSession) -> list[str]:
    events = await session.events(limit=1000)
    return [e.data.status for e in events if isinstance(e, PermissionResolved | QuestionResolved)]


@pytest.mark.clause(
    "spec2-3.3-reply-by-kind", "spec3-human-in-the-loop", "decision-35-client", "sdk-policies"
)
@pytest.mark.parametrize(
    ("policy", "said", "status"),
    [
        (auto_approve, "selected allow-once (allow_once)", "accept"),
        (auto_reject, "selected reject-once (reject_once)", "reject"),
        (allow_kinds("edit"), "selected allow-once (allow_once)", "accept"),
        (allow_kinds("read", "search"), "selected reject-once (reject_once)", "reject"),
        (lambda _: "always", "selected allow-always (allow_always)", "accept_for_session"),
        (lambda _: "allow-always", "selected allow-always (allow_always)", "accept_for_session"),
    ],
)
async def test_policies_answer_permissions(
    client: AsyncSandboxAgent, policy: Any, said: str, status: str
) -> None:
    session = await client.sessions.create("mock", on_permission=policy)
    assert (await session.prompt("permission")).text == f"Permission outcome: {said}"
    assert await resolved(session) == [status]


async def test_a_callback_may_be_async_and_sees_what_is_asked(client: AsyncSandboxAgent) -> None:
    asked: list[PermissionRequest] = []

    async def decide(request: PermissionRequest) -> str:
        await asyncio.sleep(0)
        asked.append(request)
        return "reject"

    session = await client.sessions.create("mock", on_permission=decide)
    await session.prompt("permission")
    assert asked[0].action == "Write notes.txt" and asked[0].kind == "edit"
    assert asked[0].available_replies == ("once", "always", "reject")
    assert asked[0].session_id == session.id


@pytest.mark.clause("sdk-policies")
async def test_without_callback_and_reader_a_permission_is_cancelled_at_once(
    client: AsyncSandboxAgent,
) -> None:
    session = await client.sessions.create("mock")
    result = await session.prompt("permission")
    assert result.text == "Permission outcome: cancelled"
    assert await resolved(session) == ["reject"]


@pytest.mark.clause("spec2-3-permission-reply", "spec3-session-state")
async def test_a_reader_of_the_events_can_answer_by_hand(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("permission") as turn:
        async for event in turn:
            if isinstance(event, PermissionRequested):
                assert session.info.pending_permissions == [event.data.permission_id]
                with pytest.raises(UnsupportedPermissionReplyError, match="allow-once"):
                    await session.reply_permission(event.data.permission_id, "nonsense")
                await session.reply_permission(event.data.permission_id, "once")
                with pytest.raises(PermissionNotFoundError):
                    await session.reply_permission(event.data.permission_id, "once")
    assert "allow_once" in (await turn.result()).text
    assert session.info.pending_permissions == []


async def test_a_callback_that_returns_none_leaves_the_request_open(client: AsyncSandboxAgent) -> None:
    waiting = asyncio.Event()
    session = await client.sessions.create("mock", on_permission=lambda _: waiting.set())
    turn = asyncio.create_task(session.prompt("permission"))
    await asyncio.wait_for(waiting.wait(), 10)
    await session.reply_permission(session.pending_permissions[0].id, "reject")
    assert "reject_once" in (await turn).text


@pytest.mark.clause("sdk-policies")
async def test_a_permission_time_limit_cancels_and_never_approves(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", on_permission=lambda _: None, permission_timeout=0.2)
    assert (await session.prompt("permission")).text == "Permission outcome: cancelled"


@pytest.mark.clause("sdk-permission-listeners")
async def test_a_callback_gets_the_whole_request_and_may_answer_by_hand(client: AsyncSandboxAgent) -> None:
    asked: list[PermissionRequest] = []

    async def allow(request: PermissionRequest) -> None:
        asked.append(request)
        await session.reply_permission(request.id, "once")

    session = await client.sessions.create("mock", on_permission=allow)
    assert "allow_once" in (await session.prompt("permission")).text
    [request] = asked
    assert request.session_id == session.id and request.agent_session_id == session.native_session_id
    assert request.tool_call == {**request.raw_request["toolCall"], "name": "write_file"}
    assert session.record.created_at <= request.created_at
    assert request.available_replies == ("once", "always", "reject")
    session.handlers.on_permission = None
    assert "cancelled" in (await session.prompt("permission")).text, "nothing is there to answer any more"
    assert len(asked) == 1


@pytest.mark.clause("sdk-permission-listeners")
async def test_a_permission_is_answered_with_a_response_of_acp(client: AsyncSandboxAgent) -> None:
    async def answer(request: PermissionRequest) -> None:
        await session.reply_permission(request.id, ONCE)

    session = await client.sessions.create("mock", on_permission=answer)
    assert "selected allow-once" in (await session.prompt("permission")).text
    with pytest.raises(PermissionNotFoundError):
        await session.reply_permission("perm_1", ONCE)


@pytest.mark.clause("sdk-permission-listeners")
async def test_each_session_answers_its_own_permissions(client: AsyncSandboxAgent) -> None:
    sessions = [await client.sessions.create("mock", id=name) for name in ("first", "second")]
    asked = [asyncio.Event() for _ in sessions]
    for session, event in zip(sessions, asked, strict=True):
        session.on_event(lambda _, event=event: event.set(), type="permission.requested")  # type: ignore[misc]
    turns = [asyncio.create_task(session.prompt("permission")) for session in sessions]
    for event in asked:
        await asyncio.wait_for(event.wait(), 10)
    first, second = sessions
    await second.reply_permission(second.pending_permissions[0].id, "reject")
    assert "reject_once" in (await turns[1]).text
    await first.reply_permission(first.pending_permissions[0].id, ONCE)
    assert "selected allow-once" in (await turns[0]).text


@pytest.mark.clause("sdk-policies")
async def test_a_callback_that_raises_is_reported_to_the_caller(client: AsyncSandboxAgent) -> None:
    def broken(_: PermissionRequest) -> str:
        raise LookupError("no idea")

    session = await client.sessions.create("mock", on_permission=broken)
    with pytest.raises(CallbackError) as failure:
        await session.prompt("permission")
    assert isinstance(failure.value.__cause__, LookupError)
    assert (await session.prompt("echo on")).text == "on"


@pytest.mark.clause("sdk-cancel-answers-permissions")
async def test_cancelling_a_turn_answers_its_open_permissions(client: AsyncSandboxAgent) -> None:
    # This agent waits for the answer even after a cancel, as gemini, goose and others do.
    session = await client.sessions.create("amp")
    async with session.stream("ask") as turn:
        async for event in turn:
            if isinstance(event, PermissionRequested):
                break
    result = await turn.result()
    assert result.stop_reason == "cancelled"
    assert json.loads(result.text)["outcome"] == {"outcome": "cancelled"}


async def test_a_request_the_agent_takes_back_is_resolved_and_still_answered(
    client: AsyncSandboxAgent,
) -> None:
    session = await client.sessions.create("amp", on_permission=lambda _: None)
    result = await session.prompt(["withdraw", "ask"])
    assert json.loads(result.text)["code"] == -32800
    assert session.pending_permissions == [] and await resolved(session) == ["reject"]


@pytest.mark.clause("spec2-3-permission-reply", "spec2-3.3-reply-by-kind", "decision-35-client")
async def test_the_reply_is_recorded_with_its_legacy_meaning(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("amp", on_permission=lambda _: "always")
    await session.prompt("ask")
    replies = [m for m in await session.raw_events(limit=1000) if m.get("id") == "ask-1" and "result" in m]
    meta = replies[0]["result"]["_meta"]["sandboxagent.dev"]
    assert meta["fallback"] == "allow_once"
    assert meta["permission"]["optionId"] == "yes" and meta["permission"]["status"] == "accept"


@pytest.mark.clause(
    "spec2-3-question-reply-and-reject",
    "spec3-human-in-the-loop",
    "spec4-event-flow",
    "spec4-sdk-methods",
    "decision-34-client",
)
@pytest.mark.parametrize(
    ("prompt", "answer", "said"),
    [
        ("question", "option-b", "You answered: option-b"),
        ("question", "Option B", "You answered: option-b"),
        ("question", [["option-c"]], "You answered: option-c"),
        ("a multi question", ["option-a", "Option C"], "You answered: option-a, option-c"),
        ("a free question", "Ada", "You answered: Ada"),
        ("question", REJECT, "You rejected the question."),
    ],
)
async def test_questions_are_answered_by_value_label_or_text(
    client: AsyncSandboxAgent, prompt: str, answer: Any, said: str
) -> None:
    session = await client.sessions.create("mock", on_question=lambda _: answer)
    assert (await session.prompt(prompt)).text == said
    assert await resolved(session) == ["rejected" if answer is REJECT else "answered"]


@pytest.mark.clause("spec2-3-question-reply-and-reject", "spec4-event-flow", "spec4-sdk-methods")
async def test_a_question_is_answered_or_refused_by_hand(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("question") as turn:
        async for event in turn:
            if isinstance(event, QuestionRequested):
                assert event.data.options == ["option-a", "option-b", "option-c"]
                assert event.data.status == "requested"
                question = session.pending_questions[0]
                assert [option.label for option in question.options] == ["Option A", "Option B", "Option C"]
                with pytest.raises(InvalidAnswerError, match="option-a"):
                    await session.reply_question(question.id, "option-z")
                wrong: Any = {1: 2}
                with pytest.raises(InvalidAnswerError, match="an answer is a text"):
                    await session.reply_question(question.id, wrong)
                await session.reject_question(question.id)
                with pytest.raises(QuestionNotFoundError):
                    await session.reply_question(question.id, "option-a")
    assert (await turn.result()).text == "You rejected the question."


@pytest.mark.clause("sdk-policies")
async def test_without_callback_and_reader_a_question_is_rejected(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    assert (await session.prompt("question")).text == "You rejected the question."


@pytest.mark.clause("decision-34-client")
@pytest.mark.parametrize(("quick", "many"), [("true", "4"), (True, 4)])
async def test_a_form_is_one_question_a_field_and_one_answer(
    client: AsyncSandboxAgent, quick: Any, many: Any
) -> None:
    asked: list[Question] = []
    answers = {
        "colour": "Red",
        "toppings": ["olives", "cheese"],
        "Be quick?": quick,
        "How many?": many,
        "name": "Ada",
    }

    def answer(question: Question) -> Any:
        asked.append(question)
        return next(value for key, value in answers.items() if key in question.prompt)

    session = await client.sessions.create("mock", on_question=answer)
    text = (await session.prompt("elicit")).text
    assert json.loads(text.removeprefix("You accepted: ")) == {
        "colour": "red", "toppings": ["olives", "cheese"], "fast": True, "count": 4, "name": "Ada"
    }  # fmt: skip
    assert [one.value_type for one in asked] == ["string", "array", "boolean", "integer", "string"]
    assert [one.required for one in asked] == [True, False, False, False, False]


@pytest.mark.clause("decision-34-client")
@pytest.mark.parametrize(("reply", "action"), [("done", "accept"), (REJECT, "decline")])
async def test_a_page_to_visit_is_a_question_with_its_address(
    client: AsyncSandboxAgent, reply: Any, action: str
) -> None:
    asked: list[Question] = []
    session = await client.sessions.create("mock", on_question=lambda one: (asked.append(one), reply)[1])
    turn = await session.prompt("elicit url")
    assert turn.text == f"You answered: {action}"
    (question,) = asked
    assert question.prompt == "Please log in.\nhttps://example.com/login" and not question.options
    assert all(event.type != "agent.unparsed" for event in turn.events)
    completed = [
        e for e in turn.events if e.type == "session.updated" and e.data.label == "elicitation_complete"
    ]
    assert len(completed) == (action == "accept")


@pytest.mark.clause("decision-34-client")
async def test_a_form_may_be_declined_and_is_declined_if_nothing_could_answer(
    client: AsyncSandboxAgent,
) -> None:
    refusing = await client.sessions.create("mock", on_question=lambda _: REJECT)
    assert (await refusing.prompt("elicit")).text == "You answered: decline"
    silent = await client.sessions.create("mock")
    assert (await silent.prompt("elicit")).text == "You answered: decline"


@pytest.mark.clause("events-question-readers", "events-one-question")
async def test_a_reader_of_the_events_answers_a_form_without_a_callback(client: AsyncSandboxAgent) -> None:
    """Agents such as Claude ask only clients that offer forms; a callback is not needed for that."""
    answers = {"Which colour?": "green", "Which toppings?": ["cheese", "olives"], "Be quick?": "true"}
    session = await client.sessions.create("mock")
    asked: list[str] = []
    async with session.stream("elicit") as turn:
        async for event in turn:
            if event.type == "question.requested":
                question = event.data.prompt.splitlines()[-1]
                asked.append(question)
                await session.reply_question(event.data.question_id, answers.get(question, "3"))
    result = await turn.result()
    assert asked == [*answers, "How many?", "Your name?"]
    assert json.loads(result.text.removeprefix("You accepted: ")) == {
        "colour": "green", "toppings": ["cheese", "olives"], "fast": True, "count": 3, "name": "3"
    }  # fmt: skip
    resolved = [event.data.status for event in result.events if event.type == "question.resolved"]
    assert resolved == ["answered"] * 5


@pytest.mark.clause("spec3-human-in-the-loop", "decision-34-client")
async def test_plan_approval_is_a_question(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create(
        "mock", mode="plan", on_question=lambda question: question.options[0].label
    )
    result = await session.prompt("plan approval")
    assert "selected exit-plan-normal" in result.text
    assert [e.type for e in result.events if "question" in e.type] == [
        "question.requested",
        "question.resolved",
    ]
    assert session.info.agent_mode == "normal"
    refusing = await client.sessions.create("mock", mode="plan", on_question=lambda _: REJECT)
    assert "keep-planning" in (await refusing.prompt("plan approval")).text


async def test_a_client_wide_callback_serves_every_session(client: AsyncSandboxAgent) -> None:
    client.sessions.handlers.on_permission = auto_approve
    session = await client.sessions.create("mock")
    assert "allow_once" in (await session.prompt("permission")).text


@pytest.mark.clause("sdk-policies")
@pytest.mark.parametrize("failure", [asyncio.CancelledError, SystemExit, GeneratorExit])
async def test_a_callback_that_leaves_in_any_way_ends_its_request(
    client: AsyncSandboxAgent, failure: type[BaseException]
) -> None:
    async def leaves(_: object) -> str:
        raise failure

    session = await client.sessions.create("mock", on_permission=leaves)
    with pytest.raises(CallbackError) as raised:
        await asyncio.wait_for(session.prompt("permission"), 20)
    assert isinstance(raised.value.__cause__, failure)
    assert session.pending_permissions == []
