"""Messages and thoughts: consecutive chunks become one item.

Chunks with a `messageId` belong to that message, whatever comes between them. Chunks without one belong
together until a message of another kind, a tool call or the end of the turn comes; a notice, such as the
usage so far, does not end a message. A thought is an item of its own.
"""

from __future__ import annotations

from typing import Any, Literal

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import ItemDeltaData, TextDeltaData, ThoughtDeltaData
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
from sandbox_agent.sdk.universal.mapping.items.content import block_part, block_text
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import Item, ItemLifecycle
from sandbox_agent.sdk.universal.meta import ItemFacts, item_facts, reasoning_visibility

Slot = Literal["assistant", "thought", "user"]
SLOT_OF_UPDATE: dict[str, Slot] = {
    "agent_message_chunk": "assistant",
    "agent_thought_chunk": "thought",
    "user_message_chunk": "user",
}
_ROLE_OF_SLOT: dict[Slot, ItemRole] = {"assistant": "assistant", "thought": "assistant", "user": "user"}


class OpenMessage(Struct):
    """A message that grows: completed parts, and the pieces of the current text."""

    item: Item
    message_id: str | None
    visibility: Visibility | None
    """Set for a thought."""
    parts: list[ContentPart] = []
    pieces: list[str] = []
    said: str | None = None
    """The text of the deltas, if the message was replaced and they differ from its content."""

    @property
    def delta_kind(self) -> type[ItemDeltaData]:
        return TextDeltaData if self.visibility is None else ThoughtDeltaData

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

    def __init__(self, items: ItemLifecycle, open_messages: dict[Slot, OpenMessage]) -> None:
        self._items = items
        self._open = open_messages

    @property
    def open_assistant_id(self) -> str | None:
        """The item id of the assistant's open message."""
        message = self._open.get("assistant")
        return message.item.item_id if message else None

    def chunk(self, slot: Slot, update: dict[str, Any], block: dict[str, Any]) -> None:
        """Add a chunk to the message it belongs to."""
        text = block_text(block)
        facts = item_facts(update)
        if text == "" and not facts.starts and facts.item_id is None:
            # Some agents open every message with an empty chunk, also those that stay empty.
            return
        if len(self._open) > 1 or slot not in self._open:
            self.end_runs(keep=slot)
        message = self._message_for(slot, update, facts)
        if text is None:
            message.add_part(block_part(block))
        else:
            message.pieces.append(text)
            if message.said is not None:
                message.said += text
            self._items.delta(message.item, text, message.delta_kind)

    def replace(self, slot: Slot, update: dict[str, Any], blocks: list[dict[str, Any]]) -> None:
        """Replace the content of the message with this `messageId` (ACP v2); what it adds is a delta."""
        self.end_runs(keep=slot)
        message = self._message_for(slot, update, item_facts(update))
        said = _text_of(message.content()) if message.said is None else message.said
        message.parts, message.pieces = [], []
        for block in blocks:
            if (piece := block_text(block)) is None:
                message.add_part(block_part(block))
            else:
                message.pieces.append(piece)
        text = _text_of(message.content())
        message.said = None if text.startswith(said) else said
        if message.said is None and text != said:
            self._items.delta(message.item, text[len(said) :], message.delta_kind)

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
                said = _text_of(message.content())
                if final.text.startswith(said) and final.text != said:
                    rest = final.text[len(said) :]
                    self._items.delta(message.item, rest, message.delta_kind, synthetic=True)
                content = final.content or message.content()
                self._items.complete(message.item, content, final.status, synthetic=False)
                return True
        return False

    def _message_for(self, slot: Slot, update: dict[str, Any], facts: ItemFacts) -> OpenMessage:
        message_id = as_text(update.get("messageId"))
        current = self._open.get(slot)
        if current is not None:
            another_item = facts.item_id is not None and facts.item_id != current.item.item_id
            if not facts.starts and not another_item and message_id == current.message_id:
                return current
            self._close(slot, "completed")
        item = self._items.create("message", _ROLE_OF_SLOT[slot], facts=facts, native_item_id=message_id)
        visibility = reasoning_visibility(update) if slot == "thought" else None
        self._open[slot] = message = OpenMessage(item, message_id, visibility)
        # A thought starts with an empty reasoning part, so that readers know the kind of its deltas.
        self._items.start(item, [] if visibility is None else [ReasoningPart("", visibility)], synthetic=True)
        return message

    def _close(self, slot: Slot, status: ItemStatus) -> None:
        message = self._open.pop(slot)
        self._items.complete(message.item, message.content(), status, synthetic=True)


def _text_of(content: list[ContentPart]) -> str:
    return "".join(part.text for part in content if isinstance(part, TextPart | ReasoningPart))
