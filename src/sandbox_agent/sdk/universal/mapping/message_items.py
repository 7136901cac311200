"""Messages and thoughts: consecutive chunks become one item.

Chunks with a `messageId` belong to that message, whatever comes between them. Chunks without one belong
together until an update of another kind arrives. A thought is an item of its own.
"""

from __future__ import annotations

from typing import Any, Literal

from sandbox_agent.sdk.universal.items import (
    ContentPart,
    ItemRole,
    ItemStatus,
    ReasoningPart,
    TextPart,
    UniversalItem,
    Visibility,
)
from sandbox_agent.sdk.universal.json_reading import as_text
from sandbox_agent.sdk.universal.mapping.content import block_part, block_text
from sandbox_agent.sdk.universal.mapping.item_lifecycle import Item, ItemLifecycle
from sandbox_agent.sdk.universal.meta import item_facts, reasoning_visibility

Slot = Literal["assistant", "thought", "user"]
SLOT_OF_UPDATE: dict[str, Slot] = {
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}
_ROLE_OF_SLOT: dict[Slot, ItemRole] = {"assistant": "assistant", "thought": "assistant", "user": "user"}


class _OpenMessage:
    """A message that grows: completed parts, and the pieces of the current text."""

    def __init__(self, item: Item, message_id: str | None, visibility: Visibility | None) -> None:
        self.item = item
        self.message_id = message_id
        self.visibility: Visibility | None = visibility
        self.parts: list[ContentPart] = []
        self.pieces: list[str] = []

    def content(self) -> list[ContentPart]:
        return [*self.parts, *self._text_part()]

    def add_part(self, part: ContentPart) -> None:
        self.parts += [*self._text_part(), part]
        self.pieces = []

    def _text_part(self) -> list[ContentPart]:
        if not self.pieces:
            return []
        text = "".join(self.pieces)
        if self.visibility is None:
            return [TextPart(text)]
        return [ReasoningPart(text, self.visibility)]


class Messages:
    """The open message of each slot."""

    def __init__(self, items: ItemLifecycle) -> None:
        self._items = items
        self._open: dict[Slot, _OpenMessage] = {}

    @property
    def open_assistant_id(self) -> str | None:
        """The item id of the assistant's open message."""
        message = self._open.get("assistant")
        return message.item.item_id if message else None

    def chunk(self, slot: Slot, update: dict[str, Any], block: dict[str, Any]) -> None:
        """Add a chunk to the message it belongs to."""
        self.end_runs(keep=slot)
        message = self._message_for(slot, update)
        text = block_text(block)
        if text is None:
            message.add_part(block_part(block))
        else:
            message.pieces.append(text)
            self._items.delta(message.item, text)

    def end_runs(self, *, keep: Slot | None = None) -> None:
        """Complete the messages without a `messageId`, because another update arrived."""
        for slot, message in list(self._open.items()):
            if slot != keep and message.message_id is None:
                self._close(slot, "completed")

    def close_all(self, status: ItemStatus) -> None:
        """Complete every open message."""
        for slot in list(self._open):
            self._close(slot, status)

    def finish(self, final: UniversalItem) -> bool:
        """Complete the open message that `final` names with its content; returns whether there was one."""
        for slot, message in self._open.items():
            if final.item_id == message.item.item_id or (
                final.native_item_id is not None and final.native_item_id == message.item.native_item_id
            ):
                del self._open[slot]
                said = "".join(p.text for p in message.content() if isinstance(p, TextPart | ReasoningPart))
                if final.text.startswith(said) and final.text != said:
                    self._items.delta(message.item, final.text[len(said) :], synthetic=True)
                content = final.content or message.content()
                self._items.complete(message.item, content, final.status, synthetic=False)
                return True
        return False

    def _message_for(self, slot: Slot, update: dict[str, Any]) -> _OpenMessage:
        facts, message_id = item_facts(update), as_text(update.get("messageId"))
        current = self._open.get(slot)
        if current is not None:
            another_item = facts.item_id is not None and facts.item_id != current.item.item_id
            if not facts.starts and not another_item and message_id == current.message_id:
                return current
            self._close(slot, "completed")
        item = self._items.create("message", _ROLE_OF_SLOT[slot], facts=facts, native_item_id=message_id)
        visibility = reasoning_visibility(update) if slot == "thought" else None
        self._open[slot] = message = _OpenMessage(item, message_id, visibility)
        # A thought starts with an empty reasoning part, so that readers know the kind of its deltas.
        self._items.start(item, [] if visibility is None else [ReasoningPart("", visibility)], synthetic=True)
        return message

    def _close(self, slot: Slot, status: ItemStatus) -> None:
        message = self._open.pop(slot)
        self._items.complete(message.item, message.content(), status, synthetic=True)
