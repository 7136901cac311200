"""The `_meta` contract: written without losing anything, read back as the same facts."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_agent.sdk.universal import (
    TurnStarted,
    UniversalEvent,
    UniversalMapper,
    carry_over,
    event_from_json,
    event_to_dict,
    meta,
)

from .fixtures import FIXTURES, compact, load

NS = "sandboxagent.dev"


@pytest.mark.clause("spec2-5-namespace")
def test_writing_keeps_what_meta_already_held_and_leaves_the_argument_alone() -> None:
    params = {"cwd": "/w", "_meta": {"other": 1, NS: {"connectionId": "c"}}}
    written = meta.with_meta(params, turn="t1", title=None)
    assert written == {"cwd": "/w", "_meta": {"other": 1, NS: {"connectionId": "c", "turn": "t1"}}}
    assert params["_meta"] == {"other": 1, NS: {"connectionId": "c"}}
    assert meta.with_meta({"a": 1}) == {"a": 1}


@pytest.mark.clause("spec2-5-trace-keys")
def test_trace_context_stands_at_the_root() -> None:
    written = meta.with_trace({"x": 1}, {"traceparent": "00-a-b-01", "tracestate": "k=v"})
    assert written == {"x": 1, "_meta": {"traceparent": "00-a-b-01", "tracestate": "k=v"}}
    both = meta.with_turn(written, "t1")
    assert both["_meta"] == {"traceparent": "00-a-b-01", "tracestate": "k=v", NS: {"turn": "t1"}}
    assert meta.with_trace({"x": 1}, {}) == {"x": 1}


@pytest.mark.clause("spec2-3.1-session-fields-in-meta", "decision-40")
def test_the_legacy_fields_of_a_new_session_ride_in_the_namespace() -> None:
    params = meta.with_session_request(
        {"cwd": "/w", "mcpServers": []},
        agent="claude",
        requested_session_id="my-session",
        agent_version="1.2",
        title="Fix",
        skills=["pdf"],
        permission_mode="plan",
    )
    assert params["_meta"] == {
        NS: {
            "agent": "claude",
            "requestedSessionId": "my-session",
            "agentVersionRequested": "1.2",
            "title": "Fix",
            "skills": ["pdf"],
            "permissionMode": "plan",
        }
    }


@pytest.mark.clause("spec2-3.2-attachment-filename")
def test_attachments_carry_their_name_and_replays_are_marked() -> None:
    link = {"type": "resource_link", "uri": "file:///w/a"}
    assert meta.with_filename(link, "a.txt")["_meta"] == {NS: {"filename": "a.txt"}}
    block = meta.as_replay({"type": "text", "text": "old"})
    assert meta.is_replay(block) and not meta.is_replay({"type": "text", "text": "old"})
    assert meta.is_replay({"type": "text", "text": meta.REPLAY_PREAMBLE + ", as JSON"})


@pytest.mark.parametrize("turn", ["t1", {"turn_id": "t1"}, {"turnId": "t1"}])
def test_a_turn_is_named_by_text_or_object(turn: Any) -> None:
    assert meta.turn_id_of({"_meta": {NS: {"turn": turn}}}) == "t1"


@pytest.mark.clause("spec2-5-legacy-event")
@pytest.mark.parametrize(
    "place",
    [
        lambda m: {"method": "x", "params": m},
        lambda m: {"method": "x", "params": {"update": m}},
        lambda m: {"id": 1, "result": m},
        lambda m: {"id": 1, "error": {"code": 1, "message": "x", "data": m}},
        lambda m: {"method": "x", **m},
    ],
)
def test_a_legacy_event_is_found_wherever_acp_allows_meta(place: Any) -> None:
    message = place({"_meta": {NS: {"legacyEvent": {"eventId": "e", "sequence": 2, "source": "agent"}}}})
    found = meta.legacy_event_of(message)
    assert found is not None
    assert (found.event_id, found.sequence, found.source, found.synthetic) == ("e", 2, "agent", None)


# For every event type: the ACP message that stands for it, given what carry_over wrote.
TEXT = {"type": "text", "text": "hello"}


def message_for(event: UniversalEvent, carried: dict[str, Any]) -> tuple[list[tuple[Any, str]], Any, str]:
    held = {"_meta": {NS: carried}}
    update = {"sessionUpdate": "agent_message_chunk", "content": TEXT, **held}
    tool = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "T", **held}
    question = {"id": 1, "method": "_sandboxagent/session/request_question"}
    asked = {"toolCall": {"toolCallId": "t1", "title": "Run"}, "options": []}
    prompt = {"id": 1, "method": "session/prompt", "params": {"prompt": []}}
    match event.type:
        case "session.started":
            request = ({"id": 1, "method": "session/new", "params": {"cwd": "/w"}}, "client")
            return [request], {"id": 1, "result": {"sessionId": "n1", **held}}, "agent"
        case "session.ended":
            return [], {"method": "_sandboxagent/session/ended", "params": held}, "agent"
        case "turn.started":
            return [], {**prompt, "params": {"prompt": [], **held}}, "client"
        case "turn.ended":
            return [(prompt, "client")], {"id": 1, "result": {"stopReason": "end_turn", **held}}, "agent"
        case "item.started":
            return [], {"method": "session/update", "params": {"update": tool}}, "agent"
        case "item.delta":
            return [], {"method": "session/update", "params": {"update": update}}, "agent"
        case "item.updated":
            began = {"method": "session/update", "params": {"update": {**tool, "_meta": {}}}}
            more = {**tool, "sessionUpdate": "tool_call_update", "rawInput": {"a": 1}}
            return [(began, "agent")], {"method": "session/update", "params": {"update": more}}, "agent"
        case "session.updated":
            usage = {"sessionUpdate": "usage_update", "used": 1, "size": 2, **held}
            return [], {"method": "session/update", "params": {"update": usage}}, "agent"
        case "item.completed":
            return [], {"method": "_sandboxagent/item/completed", "params": held}, "agent"
        case "error":
            return [], {"id": 9, "error": {"code": -32603, "message": "bad", "data": held}}, "agent"
        case "permission.requested":
            params = {**asked, **held}
            return [], {"id": 1, "method": "session/request_permission", "params": params}, "agent"
        case "permission.resolved":
            request = ({"id": 1, "method": "session/request_permission", "params": asked}, "agent")
            return [request], {"id": 1, "result": {"outcome": {"outcome": "cancelled"}, **held}}, "client"
        case "question.requested":
            params = {"questionId": "q1", "prompt": "Why?", "options": [], **held}
            return [], {**question, "params": params}, "agent"
        case "question.resolved":
            params = {"questionId": "q1", "prompt": "Why?", "options": []}
            return [({**question, "params": params}, "agent")], {"id": 1, "result": held}, "client"
    params = {"error": "bad", "location": "stdout", **held}
    return [], {"method": "_sandboxagent/agent/unparsed", "params": params}, "agent"


def first_of_each_type() -> list[UniversalEvent]:
    found: dict[str, UniversalEvent] = {}
    for path in FIXTURES:
        for expected in load(path)["expected"]:
            found.setdefault(expected["type"], event_from_json(compact(expected)))
    return list(found.values())


@pytest.mark.clause(
    "spec2-4-agent-unparsed",
    "spec2-4-error",
    "spec2-4-item-completed",
    "spec2-4-item-delta",
    "spec2-4-item-started",
    "spec2-4-permission-requested",
    "spec2-4-permission-resolved",
    "spec2-4-question-requested",
    "spec2-4-question-resolved",
    "spec2-4-session-ended",
    "spec2-4-session-started",
    "spec2-4-turn-ended",
    "spec2-4-turn-started",
    "spec2-5-legacy-event",
)
@pytest.mark.parametrize("event", first_of_each_type(), ids=lambda event: event.type)
def test_the_envelope_of_every_event_type_is_carried_over_and_read_back(event: UniversalEvent) -> None:
    before, message, direction = message_for(event, carry_over(event))
    mapper = UniversalMapper("s1")
    for earlier, sender in before:
        mapper.feed(earlier, sender, time=0)  # type: ignore[arg-type]
    events = mapper.feed(message, direction, time=0)  # type: ignore[arg-type]
    named = [e for e in events if e.event_id == event.event_id]
    assert [e.type for e in named] == [event.type]
    assert (named[0].source, named[0].synthetic) == (event.source, event.synthetic)
    assert named[0].native_session_id == (event.native_session_id or mapper.native_session_id)
    assert named[0].sequence >= event.sequence


def carried(type_: str) -> dict[str, Any]:
    event = next(event for event in first_of_each_type() if event.type == type_)
    return carry_over(event)


@pytest.mark.clause(
    "spec2-4-agent-unparsed",
    "spec2-4-error",
    "spec2-4-item-completed",
    "spec2-4-item-delta",
    "spec2-4-item-started",
    "spec2-4-permission-requested",
    "spec2-4-permission-resolved",
    "spec2-4-question-requested",
    "spec2-4-question-resolved",
    "spec2-4-session-ended",
    "spec2-4-session-started",
    "spec2-4-turn-ended",
    "spec2-4-turn-started",
)
def test_each_event_type_carries_what_the_mapping_asks_for() -> None:
    assert set(carried("session.started")["legacyEvent"]) == {
        "eventId", "sequence", "source", "synthetic", "nativeSessionId",
    }  # fmt: skip
    assert set(carried("session.ended")["sessionEnded"]) >= {"reason", "terminated_by"}
    started = next(event for event in first_of_each_type() if isinstance(event, TurnStarted))
    assert started.data.turn_id and carry_over(started)["turn"] == started.data.turn_id
    assert {"turn", "phase", "stopReason"} <= set(carried("turn.ended"))
    assert {"item_id", "native_item_id", "parent_id", "kind", "role", "phase"} <= set(carried("item.started"))
    assert "item_id" in carried("item.delta")
    assert "content" in carried("item.completed")["item"]
    assert {"code", "details"} <= set(carried("error"))
    assert {"permissionId", "requestId"} <= set(carried("permission.requested")["permission"])
    assert {"optionId", "status"} <= set(carried("permission.resolved")["permission"])
    assert {"questionId", "response", "status"} <= set(carried("question.resolved")["question"])
    assert "rawHash" in carried("agent.unparsed")


@pytest.mark.clause("spec2-4-item-snapshot")
def test_a_completed_item_comes_back_whole() -> None:
    path = next(path for path in FIXTURES if path.stem == "tool-result-parts")
    final = event_from_json(compact(load(path)["expected"][-1]))
    message = {"method": "_sandboxagent/item/completed", "params": {"_meta": {NS: carry_over(final)}}}
    again = event_to_dict(UniversalMapper("s1").feed(message, "agent", time=0)[-1])
    expected = event_to_dict(final)["data"]["item"]
    assert again["data"]["item"] == {**expected, "item_id": again["data"]["item"]["item_id"]}


@pytest.mark.clause("spec2-4-error-code-and-details")
def test_the_code_and_details_of_an_error_survive_json_rpc() -> None:
    held = {"_meta": {NS: {"code": "rate_limit", "details": {"retry": 3}}}}
    message = {"id": 9, "error": {"code": -32603, "message": "slow down", "data": held}}
    (event,) = UniversalMapper("s1").feed(message, "agent", time=0)
    assert (event.data.code, event.data.details) == ("rate_limit", {"retry": 3})
