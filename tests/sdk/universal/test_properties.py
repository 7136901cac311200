"""Properties for arbitrary messages: the mapper never raises, loses nothing, and keeps its invariants."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper, event_from_json, event_to_json, notes

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=12,
)
DIRECTIONS = st.sampled_from(["client", "agent"])

METHODS = st.sampled_from(
    """
    session/update session/prompt session/new session/load session/request_permission
    elicitation/create _sandboxagent/session/request_question _sandboxagent/session/started
    _sandboxagent/session/ended _sandboxagent/item/completed _sandboxagent/error
    _sandboxagent/agent/unparsed _adapter/agent_exited _adapter/invalid_stdout $/cancel_request
    something/else
""".split()
)
KEYS = """
    sessionId update sessionUpdate content type text toolCallId title kind status rawInput rawOutput
    locations path oldText newText toolCall options optionId name prompt questionId message mode
    requestedSchema properties items enum oneOf const required data reason terminated_by exit_code
    stderr success code signal raw error item item_id role _meta sandboxagent.dev legacyEvent
    eventId sequence synthetic source turn phase messageId entries configOptions availableCommands
    uri resource mimeType outcome answers requestId stopReason usage plan used size
""".split()
WORDS = """
    agent_message_chunk agent_thought_chunk user_message_chunk tool_call tool_call_update plan
    usage_update config_option_update available_commands_update session_info_update text diff
    content image resource resource_link completed failed form array boolean integer selected
    cancelled answered accept error switch_mode read started file://[x
""".split()
NEARLY = st.recursive(
    SCALARS | st.sampled_from(WORDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
IDS = st.sampled_from([1, "1", None, 2.0])
NEARLY_ACP = st.one_of(
    st.fixed_dictionaries({"method": METHODS, "params": NEARLY}, optional={"id": IDS}),
    st.fixed_dictionaries({"id": IDS, "result": NEARLY}),
    st.fixed_dictionaries({"id": IDS, "error": NEARLY}),
)
CHUNKS = st.builds(
    lambda kind, block: {"method": "session/update", "params": {"update": {"sessionUpdate": kind, **block}}},
    st.sampled_from(WORDS[:6]),
    st.dictionaries(st.sampled_from(KEYS), NEARLY, max_size=6),
)


@pytest.mark.clause("spec3-unparseable-kept")
@settings(max_examples=150, deadline=None)
@given(message=JSON.filter(lambda value: not isinstance(value, str)), direction=DIRECTIONS)
def test_any_json_is_kept_and_never_raises(message: Any, direction: Any) -> None:
    # `feed` reads a str as JSON text, so a string that is meant as a value is left out here.
    events = UniversalMapper("s1").feed(message, direction, time=0)
    assert [event.type for event in events] == ["agent.unparsed"]
    assert events[0].raw == message


@pytest.mark.clause("spec3-unparseable-kept")
@settings(max_examples=60, deadline=None)
@given(line=st.binary(max_size=60))
def test_any_bytes_are_kept_and_never_raise(line: bytes) -> None:
    (event,) = UniversalMapper("s1").feed(line, "agent", time=0)
    assert event.type == "agent.unparsed"
    assert len(event.data.raw_hash) == 64


@pytest.mark.clause("spec3-monotonic-ids")
@settings(max_examples=80, deadline=None)
@given(messages=st.lists(st.tuples(NEARLY_ACP | CHUNKS, DIRECTIONS), max_size=12))
def test_messages_that_are_nearly_right_never_raise_and_keep_every_promise(messages: Any) -> None:
    mapper = UniversalMapper("s1")
    events: list[UniversalEvent] = []
    for message, direction in messages:
        events += mapper.feed(message, direction, time=0)
    if not mapper.ended:
        events += mapper.feed(notes.session_ended(), "client", time=0)
    check_promises(events, check_text=False)


TEXT = st.text(max_size=5)
STEPS = st.one_of(
    st.tuples(st.just("prompt"), st.integers(0, 3), TEXT),
    st.tuples(st.just("answer"), st.integers(0, 3), st.sampled_from(["end_turn", "cancelled", "error"])),
    st.tuples(st.sampled_from(["message", "thought", "user"]), st.sampled_from(["", "m1", "m2"]), TEXT),
    st.tuples(st.just("call"), st.integers(0, 2), st.sampled_from(["pending", "in_progress", "completed"])),
    st.tuples(st.just("update"), st.integers(0, 2), st.sampled_from(["in_progress", "completed", "failed"])),
    st.tuples(st.just("permit"), st.integers(0, 3), st.sampled_from(["execute", "switch_mode"])),
    st.tuples(st.just("ask"), st.integers(0, 3), TEXT),
    st.tuples(st.just("reply"), st.integers(0, 3), st.sampled_from(["yes", "no", ""])),
    st.tuples(st.just("mode"), st.just(0), TEXT),
    st.tuples(st.sampled_from(["resume", "exit", "end"]), st.integers(0, 9), st.just("")),
)


def message_for(step: tuple[str, Any, Any], n: int) -> tuple[dict[str, Any], Any]:
    kind, number, text = step

    def update(name: str, **fields: Any) -> tuple[dict[str, Any], Any]:
        fields = {"sessionUpdate": name, **fields}
        return {"method": "session/update", "params": {"sessionId": "n1", "update": fields}}, "agent"

    block = {"type": "text", "text": text}
    match kind:
        case "prompt":
            return {"id": number, "method": "session/prompt", "params": {"prompt": [block]}}, "client"
        case "answer" if text == "error":
            return {"id": number, "error": {"code": 1, "message": "x"}}, "agent"
        case "answer":
            return {"id": number, "result": {"stopReason": text}}, "agent"
        case "message" | "thought" | "user":
            name = "user_message_chunk" if kind == "user" else f"agent_{kind}_chunk"
            return update(name, content=block, **({"messageId": number} if number else {}))
        case "call":
            return update("tool_call", toolCallId=f"t{number}", title="T", status=text)
        case "update":
            content = [{"type": "content", "content": {"type": "text", "text": "x" * n}}]
            return update("tool_call_update", toolCallId=f"t{number}", status=text, content=content)
        case "permit":
            options = [{"optionId": "yes", "name": "Y", "kind": "allow_once"}]
            params = {"toolCall": {"toolCallId": "t0", "kind": text}, "options": options}
            return {"id": number, "method": "session/request_permission", "params": params}, "agent"
        case "ask":
            params = {"prompt": text, "questionId": f"q{n}", "options": []}
            return {
                "id": number,
                "method": "_sandboxagent/session/request_question",
                "params": params,
            }, "agent"
        case "reply":
            outcome = {"outcome": "selected", "optionId": text} if text else {"outcome": "cancelled"}
            result = {"outcome": outcome, "status": "answered", "answers": [[text]]}
            return {"id": number, "result": result}, "client"
        case "resume":
            return {"id": f"r{n}", "method": "session/resume", "params": {"sessionId": "n1"}}, "client"
        case "exit":
            return notes.agent_exited(number == 0, number), "agent"
        case "end":
            return notes.session_ended(), "client"
    return update("current_mode_update", currentModeId=text)


@pytest.mark.clause("spec3-monotonic-ids", "events-invariants")
@settings(max_examples=150, deadline=None)
@given(steps=st.lists(STEPS, max_size=40))
def test_any_course_of_a_session_keeps_every_promise(steps: list[tuple[str, Any, Any]]) -> None:
    messages = [message_for(step, n) for n, step in enumerate(steps)]
    messages.append(({"id": "z", "method": "session/new", "params": {}}, "client"))
    messages.append(({"id": "z", "result": {"sessionId": "n2"}}, "agent"))
    messages.append((notes.session_ended(), "client"))
    live, stored = UniversalMapper("s1"), UniversalMapper("s1")
    events = [event for m, direction in messages for event in live.feed(m, direction, time=1)]
    check_promises(events, check_text=True)
    assert not live.pending_permissions and not live.pending_questions and not live.open_turn_ids
    # A store may give the keys back in another order.
    reordered = [(json.dumps(m, sort_keys=True).encode(), direction) for m, direction in messages]
    again = [event for m, direction in reordered for event in stored.feed(m, direction, time=1)]
    assert again == events


def check_promises(events: list[UniversalEvent], *, check_text: bool) -> None:
    sequences = [event.sequence for event in events]
    assert sequences == sorted(set(sequences))
    assert not check_text or sequences == list(range(1, len(events) + 1))
    assert max(Counter(event.event_id for event in events).values(), default=1) == 1
    assert [event_from_json(event_to_json(event)).type for event in events] == [e.type for e in events]
    open_items: dict[str, str] = {}
    started: Counter[str] = Counter()
    waiting: Counter[str] = Counter()
    for event in events:
        if event.type == "item.started":
            item = event.data.item
            assert item.item_id not in open_items and started[item.item_id] == 0
            started[item.item_id] += 1
            open_items[item.item_id] = ""
        elif event.type == "item.delta":
            open_items[event.data.item_id] += event.data.delta
        elif event.type == "item.completed":
            item = event.data.item
            said = open_items.pop(item.item_id)
            is_prompt = item.role == "user" and not said
            if check_text and item.kind == "message" and not is_prompt:
                assert item.text == said
        elif event.type in ("turn.started", "turn.ended"):
            waiting[f"turn {event.data.turn_id}"] += 1 if event.type == "turn.started" else -1
        elif event.type.startswith("permission."):
            waiting[f"permission {event.data.permission_id}"] += 1 if event.type.endswith("requested") else -1
        elif event.type.startswith("question."):
            waiting[f"question {event.data.question_id}"] += 1 if event.type.endswith("requested") else -1
    if events and events[-1].type == "session.ended":
        assert open_items == {}
        assert {key: n for key, n in waiting.items() if n} == {}
