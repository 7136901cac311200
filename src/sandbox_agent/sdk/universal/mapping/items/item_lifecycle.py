"""Starting and completing items.

Every item that starts completes exactly once, with its deltas in between.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import ItemData, ItemDeltaData, TextDeltaData
from sandbox_agent.sdk.universal.items import ContentPart, ItemKind, ItemRole, ItemStatus, UniversalItem
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.meta import ItemFacts


class Item(Struct):
    """An open item without its content, which the caller keeps."""

    item_id: str
    kind: ItemKind
    role: ItemRole | None
    native_item_id: str | None = None
    parent_id: str | None = None

    def snapshot(self, content: list[ContentPart], status: ItemStatus) -> UniversalItem:
        """The item in its present state."""
        return UniversalItem(
            item_id=self.item_id,
            native_item_id=self.native_item_id,
            parent_id=self.parent_id,
            kind=self.kind,
            role=self.role,
            content=content,
            status=status,
        )


class ItemLifecycle:
    """Creates items and emits their events."""

    def __init__(self, out: Emitter, ids_given_by_agent: set[str]) -> None:
        self._out = out
        self._ids_given_by_agent = ids_given_by_agent

    def create(
        self,
        kind: ItemKind,
        role: ItemRole | None,
        *,
        facts: ItemFacts | None = None,
        native_item_id: str | None = None,
        parent_id: str | None = None,
    ) -> Item:
        """A new item; facts stated by the agent take precedence."""
        if facts is None:
            return Item(
                self._out.new_id("itm"),
                kind=kind,
                role=role,
                native_item_id=native_item_id,
                parent_id=parent_id,
            )
        return Item(
            self._fresh_id(facts.item_id),
            kind=facts.kind or kind,
            role=facts.role or role,
            native_item_id=facts.native_item_id or native_item_id,
            parent_id=facts.parent_id or parent_id,
        )

    def start(self, item: Item, content: list[ContentPart], *, synthetic: bool) -> None:
        """Emit `item.started`."""
        self._out.emit("item.started", ItemData(item.snapshot(content, "in_progress")), synthetic=synthetic)

    def delta(
        self, item: Item, text: str, kind: type[ItemDeltaData] = TextDeltaData, *, synthetic: bool = False
    ) -> None:
        """Emit `item.delta`."""
        self._out.emit("item.delta", kind(item.item_id, item.native_item_id, text), synthetic=synthetic)

    def update(self, item: Item, content: list[ContentPart], *, synthetic: bool) -> None:
        """Emit `item.updated`: the open item with new content."""
        self._out.emit("item.updated", ItemData(item.snapshot(content, "in_progress")), synthetic=synthetic)

    def complete(
        self, item: Item, content: list[ContentPart], status: ItemStatus, *, synthetic: bool
    ) -> None:
        """Emit `item.completed`."""
        self._out.emit("item.completed", ItemData(item.snapshot(content, status)), synthetic=synthetic)

    def whole(self, item: Item, content: list[ContentPart], status: ItemStatus, *, synthetic: bool) -> None:
        """Start and complete an item that is known as a whole; the start is synthetic."""
        self.start(item, content, synthetic=True)
        self.complete(item, content, status, synthetic=synthetic)

    def arrived_whole(self, final: UniversalItem) -> None:
        """Map an item without a start: start it, give its text as one synthetic delta, complete it."""
        item = Item(
            self._fresh_id(final.item_id),
            kind=final.kind,
            role=final.role,
            native_item_id=final.native_item_id,
            parent_id=final.parent_id,
        )
        self.start(item, [], synthetic=True)
        if final.kind == "message" and final.text:
            self.delta(item, final.text, synthetic=True)
        self.complete(item, final.content, final.status, synthetic=False)

    def _fresh_id(self, wanted: str | None) -> str:
        # A used id would make an item start twice; ids of the mapper begin with itm_.
        if wanted is None or wanted in self._ids_given_by_agent or wanted.startswith("itm_"):
            return self._out.new_id("itm")
        self._ids_given_by_agent.add(wanted)
        return wanted


def read_snapshot(value: Any) -> UniversalItem | None:
    """A completed item as sent by an agent, or `None`; absent nullable fields are filled in."""
    if not isinstance(value, dict):
        return None
    defaults: dict[str, Any] = {
        "native_item_id": None,
        "parent_id": None,
        "kind": "message",
        "role": None,
        "content": [],
        "status": "completed",
    }
    try:
        return msgspec.convert({**defaults, **value}, UniversalItem)
    except (msgspec.ValidationError, RecursionError):
        return None
