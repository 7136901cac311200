"""Events in every store: both directions, in order, without gap or duplicate."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from sandbox_agent.sdk.stores import EventConflictError, EventRecord, MemoryStore, SessionStore, SqliteStore

from .conftest import OpenStore
from .samples import a_session, an_event


@pytest.mark.clause("sdk-both-directions", "sdk-same-tests-on-three-stores")
async def test_both_directions_come_back_exactly(store: SessionStore) -> None:
    asked = an_event(1, sender="client", payload={"jsonrpc": "2.0", "id": "c-1", "method": "session/prompt"})
    answer = an_event(
        2, sender="agent", payload={"jsonrpc": "2.0", "id": "c-1", "result": {"stopReason": "x"}}
    )
    await store.insert_events([asked, answer])
    page = await store.list_events("s1")
    assert page.items == [replace(asked, event_index=1), replace(answer, event_index=2)]
    assert page.next_cursor is None


@pytest.mark.clause("sdk-both-directions")
async def test_key_order_and_odd_characters_of_a_payload_survive(store: SessionStore) -> None:
    payload = {
        "zz": {"b": 1, "a": 2.0, "": None},
        "method": "x\u0000y",
        "a": ["\ud800", "😀", 2**70, -0.0, 1e300],
    }
    await store.insert_event(an_event(payload=payload))
    stored = (await store.list_events("s1")).items[0].payload
    assert stored == payload
    assert [list(stored), list(stored["zz"])] == [["zz", "method", "a"], ["b", "a", ""]]


async def test_places_count_from_one_in_each_session(store: SessionStore) -> None:
    placed = [
        await store.insert_event(an_event(n, session_id=name)) for n, name in enumerate(["a", "b", "a"])
    ]
    assert [(event.session_id, event.event_index) for event in placed] == [("a", 1), ("b", 1), ("a", 2)]
    assert await store.max_event_index("a") == 2
    assert await store.max_event_index("nobody") == 0


@pytest.mark.clause("sdk-unique-index")
async def test_storing_the_same_event_twice_stores_it_once(store: SessionStore) -> None:
    event = an_event()
    first = await store.insert_event(event)
    again = await store.insert_events([event, first, an_event(2)])
    assert [e.event_index for e in again] == [1, 1, 2]
    assert await store.count_events("s1") == 2


@pytest.mark.clause("sdk-unique-index")
async def test_a_taken_place_is_a_conflict_and_nothing_of_the_batch_is_stored(store: SessionStore) -> None:
    await store.insert_event(an_event(1))
    with pytest.raises(EventConflictError) as caught:
        await store.insert_events([an_event(2), an_event(3, event_index=1)])
    assert (caught.value.session_id, caught.value.event_index) == ("s1", 1)
    assert await store.count_events("s1") == 1
    assert (await store.insert_event(an_event(4))).event_index == 2


async def test_an_id_of_another_session_is_a_conflict(store: SessionStore) -> None:
    event = await store.insert_event(an_event())
    with pytest.raises(EventConflictError):
        await store.insert_event(an_event(session_id="s2", id=event.id))
    with pytest.raises(EventConflictError):
        await store.insert_event(replace(event, event_index=9))


async def test_a_given_place_is_kept_and_the_next_one_follows_it(store: SessionStore) -> None:
    await store.insert_event(an_event(event_index=10))
    await store.insert_event(an_event(event_index=3))
    assert (await store.insert_event(an_event())).event_index == 11
    assert [event.event_index for event in (await store.list_events("s1")).items] == [3, 10, 11]


@pytest.mark.clause("decision-33-events-by-offset-and-limit")
async def test_offset_after_index_and_limit_cut_the_same_list(store: SessionStore) -> None:
    await store.insert_events([an_event(n) for n in range(1, 11)])

    async def places(**options: Any) -> list[int]:
        return [event.event_index for event in (await store.list_events("s1", **options)).items]

    assert await places(offset=3, limit=2) == [4, 5]
    assert await places(after_index=3, limit=2) == [4, 5]
    assert await places(after_index=3, offset=2, limit=2) == [6, 7]
    assert await places(offset=9) == [10]
    assert await places(offset=10) == []
    assert await places(order="desc", limit=3) == [10, 9, 8]
    assert await places(order="desc", after_index=8) == [10, 9]


@pytest.mark.clause("sdk-paging")
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_of_events_go_through_all_of_them(store: SessionStore, order: Any) -> None:
    await store.insert_events([an_event(n) for n in range(1, 11)])
    seen: list[int] = []
    cursor: str | None = None
    while True:
        page = await store.list_events("s1", limit=4, cursor=cursor, order=order, after_index=1)
        seen += [event.event_index for event in page.items]
        if (cursor := page.next_cursor) is None:
            break
    assert seen == (list(range(2, 11)) if order == "asc" else list(range(10, 1, -1)))


async def test_a_made_up_event_cursor_is_refused(store: SessionStore) -> None:
    with pytest.raises(ValueError, match="not a cursor"):
        await store.list_events("s1", cursor="later")


async def test_an_empty_batch_is_fine(store: SessionStore) -> None:
    assert await store.insert_events([]) == []


async def test_events_need_no_session_record(store: SessionStore) -> None:
    await store.insert_event(an_event(session_id="recorded before the session"))
    assert await store.count_events("recorded before the session") == 1


@pytest.mark.clause("promise-stores-concurrent-writers")
async def test_many_writers_leave_no_gap_and_no_double(open_store: OpenStore) -> None:
    stores = [open_store() for _ in range(3)]
    events = [an_event(n) for n in range(60)]
    writes = [stores[n % 3].insert_event(event) for n, event in enumerate(events)]
    placed = await asyncio.gather(*writes)
    assert sorted(event.event_index for event in placed) == list(range(1, 61))
    page = await stores[0].list_events("s1", limit=100)
    assert {event.id for event in page.items} == {event.id for event in events}
    for store in stores:
        await store.close()


@pytest.mark.clause("promise-stores-sudden-death")
async def test_a_cancelled_write_is_whole_or_absent_and_the_store_goes_on(open_store: OpenStore) -> None:
    store = open_store()
    batches = [[an_event(n, id=f"{b}-{n}") for n in range(20)] for b in range(30)]
    tasks = [asyncio.ensure_future(store.insert_events(batch)) for batch in batches]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert all(isinstance(result, list | asyncio.CancelledError) for result in results)
    await store.insert_event(an_event(99, id="last"))
    stored: list[EventRecord] = (await store.list_events("s1", limit=1000)).items
    assert [event.event_index for event in stored] == list(range(1, len(stored) + 1))
    for number, result in enumerate(results):
        found = sum(event.id.startswith(f"{number}-") for event in stored)
        assert found == 20 if isinstance(result, list) else found in (0, 20)
    await store.close()


@pytest.mark.clause("promise-stores-sudden-death")
async def test_closing_finishes_what_was_being_written(open_store: OpenStore) -> None:
    store = open_store()
    await store.max_event_index("s1")
    write = asyncio.ensure_future(store.insert_events([an_event(n) for n in range(50)]))
    await asyncio.sleep(0)
    await store.close()
    assert len(await write) == 50
    if not isinstance(store, MemoryStore):
        again = open_store()
        assert await again.count_events("s1") == 50
        await again.close()


async def test_what_was_written_is_there_when_the_database_is_opened_again(open_store: OpenStore) -> None:
    first = open_store()
    if isinstance(first, MemoryStore):
        return  # memory is gone with the process
    event = await first.insert_event(an_event())
    await first.close()
    second = open_store()
    assert (await second.list_events("s1")).items == [event]
    assert (await second.insert_event(an_event(2))).event_index == 2
    await second.close()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=25, deadline=None)
@given(payload=st.dictionaries(st.text(), JSON, max_size=5))
async def test_any_json_object_survives_sqlite(payload: dict[str, Any]) -> None:
    async with SqliteStore(":memory:") as store:
        await store.insert_event(an_event(payload=payload))
        assert (await store.list_events("s1")).items[0].payload == payload


async def test_memory_limits_drop_the_oldest_first() -> None:
    store = MemoryStore(max_sessions=2, max_events_per_session=3)
    for n in range(3):
        await store.update_session(a_session(f"s{n}", created_at=n))
    assert [record.id for record in (await store.list_sessions()).items] == ["s1", "s2"]
    await store.insert_events([an_event(n) for n in range(5)])
    assert [event.event_index for event in (await store.list_events("s1")).items] == [3, 4, 5]
    assert await store.max_event_index("s1") == 5
