"""Sessions in every store: returned as stored, in order, page by page."""

from __future__ import annotations

import asyncio
from dataclasses import fields, replace
from typing import Any

import pytest

from sandbox_agent.sdk.stores import SessionRecord, SessionStore, StoreClosedError

from .conftest import OpenStore
from .samples import a_session, an_event

FULL = a_session(
    destroyed_at=5,
    archived_at=6,
    title="Fix the build ✓",
    metadata={"team": "x", "nested": {"b": [1, None, 2.5]}},
    session_init={"cwd": "/w", "mcpServers": []},
    config_options=[{"id": "model", "currentValue": "m1"}],
    modes={"currentModeId": "plan", "availableModes": []},
    sandbox_id="local/1",
    server_id="srv 1/x",
    server_created_at=1_700_000_000_123,
    last_event_id=42,
    init_result={"protocolVersion": 1},
)


@pytest.mark.clause("decision-31-sessions-in-a-store")
async def test_every_field_comes_back_as_it_was(store: SessionStore) -> None:
    assert all(getattr(FULL, field.name) is not None for field in fields(SessionRecord))
    await store.update_session(FULL)
    assert await store.get_session("s1") == FULL


async def test_absent_fields_come_back_absent(store: SessionStore) -> None:
    await store.update_session(a_session())
    assert await store.get_session("s1") == a_session()


async def test_an_unknown_session_is_none(store: SessionStore) -> None:
    assert await store.get_session("nobody") is None
    assert await store.patch_session("nobody", title="x") is None
    assert await store.delete_session("nobody") is False


async def test_updating_replaces_the_whole_record(store: SessionStore) -> None:
    await store.update_session(FULL)
    await store.update_session(a_session(title="new"))
    assert await store.get_session("s1") == a_session(title="new")


@pytest.mark.clause("decision-31-sessions-in-a-store")
async def test_patching_changes_only_the_named_fields(store: SessionStore) -> None:
    await store.update_session(FULL)
    changed = await store.patch_session("s1", title=None, metadata={"a": 1}, last_event_id=43)
    assert changed == replace(FULL, title=None, metadata={"a": 1}, last_event_id=43)
    assert await store.get_session("s1") == changed
    assert await store.patch_session("s1") == changed


@pytest.mark.parametrize("field", ["id", "nonsense", "title = 'x' --"])
async def test_patching_an_unknown_field_is_refused(store: SessionStore, field: str) -> None:
    await store.update_session(a_session())
    with pytest.raises(TypeError, match="no field"):
        await store.patch_session("s1", **{field: "x"})


async def test_two_writers_of_different_fields_do_not_undo_each_other(open_store: OpenStore) -> None:
    one, other = open_store(), open_store()
    await one.update_session(a_session())
    changes: list[dict[str, Any]] = [{"title": "t"}, {"last_event_id": 9}, {"archived_at": 3}]
    await asyncio.gather(
        *(s.patch_session("s1", **c) for s, c in zip((one, other, one), changes, strict=True))
    )
    assert await other.get_session("s1") == a_session(title="t", last_event_id=9, archived_at=3)
    await one.close()
    await other.close()


async def test_lists_are_ordered_by_time_then_id(store: SessionStore) -> None:
    for name, created_at in [("b", 2), ("a", 2), ("Z", 2), ("z", 1), ("é", 2)]:
        await store.update_session(a_session(name, created_at=created_at))
    ids = [record.id for record in (await store.list_sessions()).items]
    assert ids == ["z", "Z", "a", "b", "é"]
    backwards = [record.id for record in (await store.list_sessions(order="desc")).items]
    assert backwards == ids[::-1]


@pytest.mark.clause("sdk-paging")
@pytest.mark.parametrize("order", ["asc", "desc"])
async def test_pages_neither_repeat_nor_skip_when_sessions_are_added_meanwhile(
    store: SessionStore, order: Any
) -> None:
    for n in range(7):
        await store.update_session(a_session(f"s{n}", created_at=n))
    page = await store.list_sessions(limit=3, order=order)
    seen = [record.id for record in page.items]
    await store.update_session(a_session("early", created_at=-1 if order == "asc" else 100))
    while page.next_cursor is not None:
        page = await store.list_sessions(limit=3, order=order, cursor=page.next_cursor)
        seen += [record.id for record in page.items]
    assert seen == sorted((f"s{n}" for n in range(7)), reverse=order == "desc")


async def test_the_last_page_has_no_cursor(store: SessionStore) -> None:
    await store.update_session(a_session())
    assert (await store.list_sessions(limit=1)).next_cursor is None
    assert (await store.list_sessions(limit=5)).next_cursor is None


@pytest.mark.clause("decision-31-sessions-in-a-store")
async def test_archived_sessions_can_be_picked_or_left_out(store: SessionStore) -> None:
    await store.update_session(a_session("kept"))
    await store.update_session(a_session("hidden", archived_at=7))
    ids = {
        wanted: [record.id for record in (await store.list_sessions(archived=wanted)).items]
        for wanted in (None, True, False)
    }
    assert ids == {None: ["hidden", "kept"], True: ["hidden"], False: ["kept"]}


@pytest.mark.parametrize("cursor", ["", "x", "x:y", "1.5:a"])
async def test_a_made_up_cursor_is_refused(store: SessionStore, cursor: str) -> None:
    await store.update_session(a_session())
    with pytest.raises(ValueError, match="not a cursor"):
        await store.list_sessions(cursor=cursor)


async def test_a_limit_below_one_is_refused(store: SessionStore) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        await store.list_sessions(limit=0)
    with pytest.raises(ValueError, match="at least 1"):
        await store.list_events("s1", limit=0)


async def test_deleting_a_session_forgets_its_events_and_no_others(store: SessionStore) -> None:
    for name in ("s1", "s2"):
        await store.update_session(a_session(name))
        await store.insert_event(an_event(session_id=name))
    assert await store.delete_session("s1") is True
    assert await store.get_session("s1") is None
    assert (await store.count_events("s1"), await store.count_events("s2")) == (0, 1)
    assert await store.delete_session("s1") is False


async def test_awkward_names_are_kept_exactly(store: SessionStore) -> None:
    name = "a b/c%'\";--\n€😀"
    await store.update_session(a_session(name, title=name, metadata={name: name}))
    await store.insert_event(an_event(session_id=name))
    assert await store.get_session(name) == a_session(name, title=name, metadata={name: name})
    assert await store.count_events(name) == 1


async def test_changing_a_record_after_storing_it_changes_nothing_stored(store: SessionStore) -> None:
    labels = {"team": "x"}
    await store.update_session(a_session(metadata=labels))
    labels["team"] = "y"
    first = await store.get_session("s1")
    assert first is not None and first.metadata == {"team": "x"}


@pytest.mark.clause("sdk-same-tests-on-three-stores")
async def test_a_store_satisfies_the_protocol(store: SessionStore) -> None:
    assert isinstance(store, SessionStore)


async def test_a_closed_store_says_so(open_store: OpenStore) -> None:
    store = open_store()
    await store.update_session(a_session())
    await store.close()
    await store.close()
    for call in (store.get_session("s1"), store.insert_event(an_event()), store.list_sessions()):
        with pytest.raises(StoreClosedError):
            await call
