"""Every fixture gives exactly its events: values, key order and omissions, from dicts and from bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_agent.sdk.universal import EVENT_CLASSES, event_from_json, event_to_dict, event_to_json

from .fixtures import FIXTURES, compact, derive, load, mapper_for


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
    "spec3-plan-approval-is-a-question",
    "spec3-unparseable-kept",
    "spec4-first-answer-is-the-response",
    "spec4-question-types",
    "decision-32",
    "decision-34",
    "events-notices",
    "inspector-universal-agrees",
)
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_messages_give_exactly_the_expected_json(path: Path) -> None:
    fixture = load(path)
    events = derive(fixture)
    assert [event_to_dict(event) for event in events] == fixture["expected"]
    assert [event_to_json(event).decode() for event in events] == [compact(e) for e in fixture["expected"]]


@pytest.mark.clause("decision-32")
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_bytes_of_the_wire_give_the_same_events_as_stored_messages(path: Path) -> None:
    fixture = load(path)
    mapper = mapper_for(fixture)
    from_bytes = [
        event_to_dict(event)
        for step in fixture["input"]
        for event in mapper.feed(compact(step["message"]).encode(), step["direction"], time=step["time"])
    ]
    assert from_bytes == fixture["expected"]


@pytest.mark.clause("sdk-mapper-checkpoints")
@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_a_mapper_continues_from_the_stored_state_of_another_after_every_message(path: Path) -> None:
    fixture = load(path)
    mapper, events = mapper_for(fixture), []
    for step in fixture["input"]:
        events += mapper.feed(step["message"], step["direction"], time=step["time"])
        state = mapper.state()
        assert state is not None
        mapper = mapper_for(fixture, state=state)
    assert [event_to_dict(event) for event in events] == fixture["expected"]


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_the_json_reads_back_as_the_same_event(path: Path) -> None:
    for event in derive(load(path)):
        again = event_from_json(event_to_json(event))
        assert again == event
        assert type(again) is EVENT_CLASSES[event.type]


@pytest.mark.clause("spec2-4-all-types")
def test_the_fixtures_show_every_event_type() -> None:
    seen = {event["type"] for path in FIXTURES for event in load(path)["expected"]}
    assert seen == set(EVENT_CLASSES)


@pytest.mark.clause("spec2-4-all-types")
def test_the_fixtures_show_every_part_and_every_update_kind_of_acp() -> None:
    from acp.schema import SessionNotification

    kinds = set(SessionNotification.model_json_schema()["properties"]["update"]["discriminator"]["mapping"])
    text = "".join(path.read_text() for path in FIXTURES)
    assert {kind for kind in kinds if f'"sessionUpdate": "{kind}"' not in text} == set()
    parts = ("text", "json", "tool_call", "tool_result", "file_ref", "reasoning", "image", "status")
    assert [part for part in parts if f'"type": "{part}"' not in text] == []


def test_names_of_fixtures_are_their_files() -> None:
    assert [load(path)["name"] for path in FIXTURES] == [path.stem for path in FIXTURES]
