"""What a turn gives beside its text: tool calls as a tree, changes, usage, cost, context and duration."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.sdk.session.turns.turn_result import TurnResult, completed_items
from sandbox_agent.sdk.transcripts.spending import Spending
from sandbox_agent.sdk.universal import (
    Cost,
    FileRefPart,
    ItemDelta,
    ToolCallPart,
    ToolLocation,
    UniversalEvent,
    UniversalMapper,
    event_to_dict,
)
from sandbox_agent.sdk.universal.usage import UsageState, usage_of_turn


def update(name: str, **fields: Any) -> dict[str, Any]:
    params = {"sessionId": "s", "update": {"sessionUpdate": name, **fields}}
    return {"method": "session/update", "params": params}


def turn(mapper: UniversalMapper, *updates: dict[str, Any], usage: Any = None) -> list[UniversalEvent]:
    prompt = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "go"}]}}
    answer = {"id": 1, "result": {"stopReason": "end_turn", **({"usage": usage} if usage else {})}}
    events = mapper.feed(prompt, "client", time=1_000)
    for one in updates:
        events += mapper.feed(one, "agent", time=2_000)
    return events + mapper.feed(answer, "agent", time=3_500)


def result_of(events: list[UniversalEvent]) -> TurnResult:
    return TurnResult("end_turn", "", None, "t", completed_items(events), events, {})


TASK = update("tool_call", toolCallId="task", title="Task", kind="think", rawInput={"goal": "tidy"})
EDIT = update(
    "tool_call",
    toolCallId="edit",
    title="Edit a.py",
    kind="edit",
    rawInput={"path": "a.py"},
    locations=[{"path": "/w/a.py", "line": 7}],
    _meta={"claudeCode": {"parentToolUseId": "task"}},
)
EDITED = update(
    "tool_call_update",
    toolCallId="edit",
    status="completed",
    content=[
        {"type": "content", "content": {"type": "text", "text": "done"}},
        {"type": "diff", "path": "/w/a.py", "oldText": "a\n", "newText": "b\n"},
    ],
)


@pytest.mark.clause("sdk-turn-result")
def test_tool_calls_are_a_tree_with_input_output_locations_and_changes() -> None:
    events = turn(UniversalMapper("s"), TASK, EDIT, EDITED)
    result = result_of(events)
    (task,) = result.tool_calls
    (edit,) = task.children
    assert (task.name, task.raw_input, task.children) == ("Task", {"goal": "tidy"}, [edit])
    assert (edit.kind, edit.title, edit.status, edit.output) == ("edit", "Edit a.py", "completed", "done")
    assert edit.locations == [ToolLocation("/w/a.py", 7)]
    assert edit.changes == result.changes
    assert [(change.path, change.action) for change in result.changes] == [("/w/a.py", "patch")]
    assert result.duration_s == 2.5


@pytest.mark.clause("sdk-turn-result", "decision-32")
def test_facts_beyond_the_legacy_json_are_not_in_it() -> None:
    events = turn(UniversalMapper("s"), EDIT)
    (part,) = (part for item in completed_items(events) for part in item.content if part.type == "tool_call")
    assert isinstance(part, ToolCallPart)
    assert (part.locations, part.parent_call_id) == ([ToolLocation("/w/a.py", 7)], "task")
    call = next(event for event in events if event.type == "item.started" and event.item.kind == "tool_call")
    assert set(event_to_dict(call)["data"]["item"]["content"][0]) == {
        "type", "name", "arguments", "call_id", "kind", "title",
    }  # fmt: skip


@pytest.mark.clause("sdk-turn-result")
def test_a_file_that_is_location_and_link_is_one_reference() -> None:
    link = {"type": "resource_link", "uri": "file:///w/a.py", "name": "a.py"}
    read = update(
        "tool_call",
        toolCallId="r",
        kind="read",
        status="completed",
        locations=[{"path": "/w/a.py"}],
        content=[{"type": "content", "content": link}],
    )
    items = completed_items(turn(UniversalMapper("s"), read))
    refs = [part for item in items for part in item.content if isinstance(part, FileRefPart)]
    assert refs == [FileRefPart("/w/a.py", "read", None)]


@pytest.mark.clause("sdk-turn-result")
def test_deltas_say_what_they_are_part_of() -> None:
    text = {"type": "text", "text": "x"}
    events = turn(
        UniversalMapper("s"),
        update("agent_thought_chunk", content=text),
        update("agent_message_chunk", content=text),
        update("tool_call", toolCallId="t", status="in_progress", title="run"),
        update("tool_call_update", toolCallId="t", content=[{"type": "content", "content": text}]),
    )
    assert [event.kind for event in events if isinstance(event, ItemDelta)] == ["thought", "text", "output"]


@pytest.mark.clause("sdk-usage")
def test_usage_is_known_per_turn_and_in_sum_also_after_a_restart() -> None:
    mapper = UniversalMapper("s")
    for total in (0.5, 0.75):
        status = update("usage_update", used=300, size=1000, cost={"amount": total, "currency": "USD"})
        turn(
            mapper,
            status,
            usage={"inputTokens": 10, "outputTokens": 2, "totalTokens": 12, "cachedReadTokens": 4},
        )
    again = UniversalMapper("s", state=mapper.state())
    for usage in (mapper.usage, again.usage):
        assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (20, 4, 24)
        assert (usage.cached_read_tokens, usage.thought_tokens) == (8, None)
        assert usage.cost == Cost(0.75, "USD")
        assert (usage.context_used, usage.context_size, usage.context_fill) == (300, 1000, 0.3)
    last = {"used": 300, "size": 1000, "cost": {"amount": 0.75, "currency": "USD"}}
    of_turn = usage_of_turn({"usage": {"inputTokens": 10}}, last, Cost(0.5, "USD"))
    assert of_turn is not None
    assert (of_turn.input_tokens, of_turn.cost, of_turn.context_fill) == (10, Cost(0.25, "USD"), 0.3)
    assert usage_of_turn({}, {}, None) is None


@pytest.mark.clause("sdk-usage")
def test_tokens_that_gemini_counts_are_usage_too() -> None:
    quota = {"token_count": {"input_tokens": 40, "output_tokens": 20}, "model_usage": []}
    answer = {"stopReason": "end_turn", "_meta": {"quota": quota}}
    of_turn = usage_of_turn(answer, {}, None)
    assert of_turn is not None
    assert (of_turn.input_tokens, of_turn.output_tokens, of_turn.total_tokens) == (40, 20, 60)
    state, spending = UsageState(), Spending()
    for _ in range(2):
        state.add_turn(answer)
        spending.take({"id": 1, "result": answer})
    assert state.total().total_tokens == 120
    assert spending.usage == {"inputTokens": 80, "outputTokens": 40, "totalTokens": 120}


@pytest.mark.clause("sdk-turn-result", "sdk-usage")
async def test_a_turn_of_a_real_agent_has_all_of_it(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock", include_raw=True)
    result = await session.prompt("tool")
    assert [use.status for use in result.tool_calls] == ["completed"]
    assert result.duration_s is not None and result.duration_s >= 0
    assert {event.raw is not None for event in result.events} == {True}
    assert session.usage.cost is None or session.usage.cost.amount >= 0
