"""Universal events from a store equal those of the live stream, whatever the store."""

from __future__ import annotations

import pytest

from sandbox_agent.sdk.stores import EventRecord, SessionStore
from sandbox_agent.sdk.universal import UniversalMapper, event_to_json

from ..universal.fixtures import FIXTURES, compact, load


@pytest.mark.clause("decision-32")
async def test_every_fixture_gives_the_same_events_from_the_store(store: SessionStore) -> None:
    fixtures = [load(path) for path in FIXTURES]
    for fixture in fixtures:
        await store.insert_events(
            [
                EventRecord(
                    session_id=fixture["name"],
                    sender=step["direction"],
                    payload=step["message"],
                    created_at=n * 1000,
                    connection_id="c1",
                )
                for n, step in enumerate(fixture["input"])
                if isinstance(step["message"], dict)
            ]
        )
    for fixture in fixtures:
        times = {event["time"]: n for n, event in enumerate(fixture["input"])}
        expected = [
            compact({**event, "time": f"1970-01-01T00:00:{times[event['time']]:02d}.000Z"})
            for event in fixture["expected"]
            if not isinstance(event["raw"], list)
        ]
        options = dict(fixture["mapper"])
        mapper = UniversalMapper(options.pop("session_id"), **options)
        derived = [
            event_to_json(event).decode()
            for stored in (await store.list_events(fixture["name"])).items
            for event in mapper.feed(dict(stored.payload), stored.sender, time=stored.created_at)
        ]
        assert derived == expected
