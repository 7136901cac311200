"""The public surface of the mapper: clocks, times, state, and the notes of the SDK."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from sandbox_agent.sdk.universal import (
    AgentUnparsed,
    ErrorEvent,
    ItemDelta,
    SessionEnded,
    UniversalMapper,
    event_from_json,
    event_to_json,
    notes,
)

PROMPT = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": "x"}]}}


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 6789, UTC), "2026-01-02T03:04:05.006Z"),
        (datetime(2026, 1, 2, 3, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:00:00.000Z"),
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
    ],
)
def test_times_become_rfc_3339(moment: Any, text: str) -> None:
    (event,) = UniversalMapper("s1").feed(notes.failure("x", None), "client", time=moment)
    assert event.time == text


def test_the_clock_is_asked_only_when_no_time_is_given() -> None:
    asked: list[int] = []

    def clock() -> int:
        asked.append(1)
        return 1000

    mapper = UniversalMapper("s1", clock=clock)
    assert mapper.feed(PROMPT, "client")[0].time == "1970-01-01T00:00:01.000Z"
    mapper.feed(notes.failure("x", None), "client", time=5)
    assert len(asked) == 1


def test_without_a_clock_the_time_is_now() -> None:
    (event,) = UniversalMapper("s1").feed(notes.failure("x", None), "client")
    assert abs(datetime.fromisoformat(event.time) - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_state_of_a_session_can_be_asked() -> None:
    mapper = UniversalMapper("s1", native_session_id="n0")
    assert (mapper.native_session_id, mapper.sequence, mapper.open_turn_ids) == ("n0", 0, [])
    mapper.feed(PROMPT, "client", time=0)
    assert (mapper.sequence, mapper.open_turn_ids, mapper.ended) == (3, ["turn_1"], False)
    mapper.feed(notes.session_ended(), "client", time=0)
    assert (mapper.open_turn_ids, mapper.ended) == ([], True)


def test_events_are_distinguished_by_class() -> None:
    mapper = UniversalMapper("s1")
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
    events = mapper.feed({"method": "session/update", "params": {"update": chunk}}, "agent", time=0)
    deltas = [event.data.delta for event in events if isinstance(event, ItemDelta)]
    assert deltas == ["hi"]
    match events:
        case [_, ItemDelta(data=data)]:
            assert data.item_id == "itm_1"
        case _:
            pytest.fail("the classes do not match")


def test_notes_are_ordinary_messages_that_give_synthetic_events() -> None:
    cases: list[tuple[dict[str, Any], type, dict[str, Any]]] = [
        (notes.stream_gap(5, 9), ErrorEvent, {"code": "replay_gap", "details": {"oldest": 5, "newest": 9}}),
        (notes.failure("gone", "agent_process_exited", {"a": 1}), ErrorEvent, {"message": "gone"}),
        (notes.unparsed("not JSON", "stdout", b"\xff"), AgentUnparsed, {"location": "stdout"}),
        (notes.session_ended(), SessionEnded, {"reason": "terminated", "terminated_by": "daemon"}),
        (
            notes.session_ended("error", message="m", exit_code=3, stderr="boom"),
            SessionEnded,
            {"message": "m", "exit_code": 3},
        ),
        (notes.agent_exited(False, 7), SessionEnded, {"reason": "error", "exit_code": 7}),
    ]
    for note, kind, facts in cases:
        (event,) = UniversalMapper("s1").feed(note, "client", time=0)
        assert isinstance(event, kind)
        assert (event.synthetic, event.source) == (True, "daemon")
        assert {key: getattr(event.data, key) for key in facts} == facts


def test_half_a_surrogate_pair_is_still_written_as_json() -> None:
    chunk = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "\ud83d"}}
    events = UniversalMapper("s1").feed(
        {"method": "session/update", "params": {"update": chunk}}, "agent", time=0
    )
    assert b'"delta":"\\ud83d"' in event_to_json(events[1])


def test_json_nested_beyond_reason_is_kept_as_unparsed() -> None:
    (event,) = UniversalMapper("s1").feed(b"[" * 100_000, "agent", time=0)
    assert event.type == "agent.unparsed"


@pytest.mark.parametrize("text", ["{}", '{"type":"nonsense"}', '{"type":"error"}', "[]"])
def test_what_is_no_universal_event_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        event_from_json(text)


def test_a_large_diff_does_not_take_long() -> None:
    old = "".join(f"line {n}\n" for n in range(20_000))
    new = old.replace("line 777\n", "changed\n")
    call = {"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "Edit", "status": "completed"}
    call["content"] = [{"type": "diff", "path": "/a", "oldText": old, "newText": new}]  # type: ignore[assignment]
    events = UniversalMapper("s1").feed(
        {"method": "session/update", "params": {"update": call}}, "agent", time=0
    )
    assert events[-1].data.item.content[1].diff.count("\n") == 11


IMPORTS = """
import sys
import sandbox_agent.sdk.universal
loaded = {"pydantic", "acp", "httpx", "asyncio", "sqlite3", "sandbox_agent.http", "sandbox_agent.bridge"}
print(sorted(loaded & set(sys.modules)))
"""


@pytest.mark.imports
def test_importing_the_mapper_stays_light() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, timeout=50, check=True
    )
    assert done.stdout == "[]\n"
