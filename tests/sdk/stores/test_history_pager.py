"""Reading a long session page by page: the work is linear in its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from sandbox_agent import AsyncSandboxAgent
from sandbox_agent.sdk.session.history.checkpoints import SPAN, map_on, mapped_history, mapped_up_to
from sandbox_agent.sdk.session.history.history_pager import MAX_CHECKPOINTS, HistoryPager
from sandbox_agent.sdk.stores import Checkpoint, CheckpointStore, EventRecord, SessionStore
from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

from .samples import a_session

# 5,000 events in every run; 50,000 with `--full`, which takes a minute a store.
SIZES = [(350, 50), pytest.param(3500, 500, marks=pytest.mark.full)]
MESSAGES_PER_TURN = 9
EVENTS_PER_TURN = 15


class Work:
    """Counts mapped messages, and rows read from the store."""

    def __init__(self) -> None:
        self.mapped = self.rows = self.skipped = 0


@pytest.fixture
def work(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> Work:
    counted, feed, list_events = Work(), UniversalMapper.feed, store.list_events

    def counting_feed(self: UniversalMapper, *args: Any, **options: Any) -> list[UniversalEvent]:
        counted.mapped += 1
        return feed(self, *args, **options)

    async def counting_list(session_id: str, **options: Any) -> Any:
        page = await list_events(session_id, **options)
        counted.rows += len(page.items)
        counted.skipped += options.get("offset", 0)
        return page

    monkeypatch.setattr(UniversalMapper, "feed", counting_feed)
    monkeypatch.setattr(store, "list_events", counting_list)
    return counted


def conversation(session_id: str, turns: int) -> Iterator[EventRecord]:
    """Turns with a message of five pieces and a tool call."""

    def record(sender: Any, **payload: Any) -> EventRecord:
        return EventRecord(
            session_id=session_id,
            sender=sender,
            payload={"jsonrpc": "2.0", **payload},
            created_at=1,
            connection_id="c",
        )

    def update(**fields: Any) -> EventRecord:
        return record("agent", method="session/update", params={"sessionId": "n", "update": fields})

    for turn in range(turns):
        prompt = [{"type": "text", "text": f"prompt {turn}"}]
        yield record("client", id=turn, method="session/prompt", params={"sessionId": "n", "prompt": prompt})
        for piece in range(5):
            content = {"type": "text", "text": f"{piece} "}
            yield update(sessionUpdate="agent_message_chunk", content=content)
        yield update(sessionUpdate="tool_call", toolCallId=f"t{turn}", title="look", rawInput={"n": turn})
        yield update(sessionUpdate="tool_call_update", toolCallId=f"t{turn}", status="completed")
        yield record("agent", id=turn, result={"stopReason": "end_turn"})


def replayed(records: Iterable[EventRecord], mapper: UniversalMapper) -> list[UniversalEvent]:
    return [
        event
        for record in records
        for event in mapper.feed(dict(record.payload), record.sender, time=record.created_at)
    ]


@pytest.mark.clause("sdk-paging-is-linear")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(("turns", "page_size"), SIZES)
async def test_a_long_session_is_read_page_by_page_in_linear_work(
    store: SessionStore, work: Work, turns: int, page_size: int
) -> None:
    await store.update_session(a_session("long"))
    await store.insert_events(list(conversation("long", turns)))
    messages = turns * MESSAGES_PER_TURN
    whole = replayed(conversation("long", turns), UniversalMapper("long", agent="mock"))
    assert len(whole) == turns * EVENTS_PER_TURN
    work.mapped = work.rows = 0

    client = AsyncSandboxAgent("http://127.0.0.1:9", store=store)
    offset = 0
    while page := await client.sessions.events("long", offset, page_size):
        assert page == whole[offset : offset + len(page)]
        offset += len(page)
    assert offset == len(whole)
    assert work.mapped == messages and work.rows == messages, "every message is read and mapped once"

    work.mapped = work.rows = 0
    for _ in range(20):
        assert await client.sessions.events("long", offset) == []
    assert work.mapped == 0, "asking for news costs nothing while there are none"

    for end in range(len(whole), 0, -page_size):
        first = max(0, end - page_size)
        assert await client.sessions.events("long", first, end - first) == whole[first:end]
    assert work.mapped <= 4 * messages, "reading backwards derives each part a few times at most"

    offset = 0
    work.skipped = 0
    while raw := await client.sessions.raw_events("long", offset, page_size):
        offset += len(raw)
    assert offset == messages and work.skipped == 0, "no page walks over the ones before it"
    await client.aclose()


@pytest.mark.clause("sdk-paging-is-linear")
async def test_pages_show_what_was_added_meanwhile_and_keep_few_checkpoints(store: SessionStore) -> None:
    await store.update_session(a_session("s"))
    records = list(conversation("s", 40))
    mapper = UniversalMapper("s", agent="mock")
    pager, whole = HistoryPager(store, "s", "mock"), list[UniversalEvent]()
    pager._span = pager._next_checkpoint = 4
    for start in range(0, len(records), 30):
        batch = await store.insert_events(records[start : start + 30])
        whole += replayed(batch, mapper)
        for offset in (len(whole) - 7, 3, len(whole) // 2, 0):
            assert await pager.events(offset, 25) == whole[offset : offset + 25]
    assert await pager.events(0, 10_000) == whole
    assert len(pager._checkpoints) <= MAX_CHECKPOINTS


@pytest.mark.clause("sdk-mapper-checkpoints")
async def test_the_second_reading_begins_at_the_last_checkpoint(store: SessionStore, work: Work) -> None:
    await store.update_session(a_session("long"))
    await store.insert_events(list(conversation("long", 350)))
    messages = 350 * MESSAGES_PER_TURN
    first = await mapped_history(store, "long", "mock")
    assert (first.index, work.mapped) == (messages, messages)
    work.mapped = 0
    second = await mapped_history(store, "long", "mock")
    # The distance between checkpoints grows with their size, a little here.
    assert 0 < work.mapped <= SPAN, "all before the last checkpoint is skipped"
    assert (second.index, second.mapper.state()) == (messages, first.mapper.state())


@pytest.mark.clause("sdk-mapper-checkpoints")
async def test_a_reader_in_the_middle_begins_at_the_checkpoint_before_it(
    store: SessionStore, work: Work
) -> None:
    await store.update_session(a_session("long"))
    await store.insert_events(list(conversation("long", 350)))
    whole = replayed(conversation("long", 350), UniversalMapper("long", agent="mock"))
    await mapped_history(store, "long", "mock")
    history = await mapped_up_to(store, "long", "mock", sequence=2000)
    assert SPAN <= history.index and history.mapper.sequence <= 2000
    begin = history.mapper.count
    found = [event async for _, events in map_on(store, "long", history) for event in events]
    assert found == whole[begin:]
    work.mapped = 0
    pager = HistoryPager(store, "long", "mock")
    assert await pager.events(5000, 10) == whole[5000:5010]
    assert work.mapped <= 2 * SPAN, "a page in the middle does not map what is before it"
    assert await pager.events(10, 10) == whole[10:20]
    assert await pager.events(4990, 300) == whole[4990:5290][:300]


@pytest.mark.clause("sdk-mapper-checkpoints")
async def test_checkpoints_of_another_mapping_are_not_used_and_go_with_their_session(
    store: SessionStore,
) -> None:
    assert isinstance(store, CheckpointStore)
    kept = Checkpoint(session_id="s", event_index=7, sequence=9, version="old", state="{}")
    await store.update_session(a_session("s"))
    await store.save_checkpoint(kept)
    await store.save_checkpoint(kept)
    assert await store.find_checkpoint("s", "old") == kept
    assert await store.find_checkpoint("s", "old", max_sequence=8) is None
    assert await store.find_checkpoint("s", "new") is None
    await store.delete_session("s")
    assert await store.find_checkpoint("s", "old") is None
