"""Maps `session/update`: chunks, whole messages, tool calls, states and notices."""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text
from sandbox_agent.sdk.universal.mapping import acp_v2
from sandbox_agent.sdk.universal.mapping.acp_v2 import TOOL_KINDS, WHOLE_MESSAGES
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle
from sandbox_agent.sdk.universal.mapping.items.message_items import SLOT_OF_UPDATE, Messages
from sandbox_agent.sdk.universal.mapping.items.status_items import add_notice
from sandbox_agent.sdk.universal.mapping.items.tool_items import Tools
from sandbox_agent.sdk.universal.mapping.mapper_state import MapperState
from sandbox_agent.sdk.universal.mapping.open_turns import OpenTurns
from sandbox_agent.sdk.universal.mapping.session_state import SessionStarts


class SessionUpdates:
    def __init__(
        self,
        state: MapperState,
        out: Emitter,
        items: ItemLifecycle,
        messages: Messages,
        tools: Tools,
        turns: OpenTurns,
        session: SessionStarts,
    ) -> None:
        self._state = state
        self._out = out
        self._items = items
        self._messages = messages
        self._tools = tools
        self._turns = turns
        self._session = session

    def read(self, message: dict[str, Any], params: dict[str, Any]) -> None:
        update = as_dict(params.get("update"))
        kind = as_text(update.get("sessionUpdate"))
        if kind is None:
            self._out.unparsed("the update has no kind", "session/update", message)
        elif kind in SLOT_OF_UPDATE:
            self._chunk(kind, update, message)
        elif kind in ("tool_call", "tool_call_update"):
            call_id = as_text(update.get("toolCallId"))
            if call_id is None:
                self._out.unparsed("the tool call has no id", "session/update", message)
                return
            update = acp_v2.tool_update(update)
            if self._state.v2.active:
                update = self._state.v2.seen(update)
            parent_id = self._messages.open_assistant_id
            self._messages.end_runs()
            (self._tools.call if kind == "tool_call" else self._tools.update)(update, call_id, parent_id)
        elif kind in WHOLE_MESSAGES:
            self._whole_message(WHOLE_MESSAGES[kind], update)
        elif kind in TOOL_KINDS:
            if (of_call := self._state.v2.translate(kind, update)) is None:
                add_notice(self._out, self._items, kind, update)
            else:
                self._tools.update(acp_v2.tool_update(of_call), of_call["toolCallId"], None)
        elif kind == "state_update":
            self._state.v2.active = True
            add_notice(self._out, self._items, kind, update)
            if update.get("state") == "idle":
                self._turns.idle(update)
        else:
            if kind == "usage_update":
                self._state.usage.update(update)
            # A notice between two chunks of a message does not end it.
            add_notice(self._out, self._items, kind, update)

    def _chunk(self, kind: str, update: dict[str, Any], message: dict[str, Any]) -> None:
        block, slot = update.get("content"), SLOT_OF_UPDATE[kind]
        if not isinstance(block, dict) or (
            block.get("type") == "text" and not isinstance(block.get("text"), str)
        ):
            self._out.unparsed("the chunk has no content block", "session/update", message)
        elif slot != "user" or self._session.state.loading or not self._turns.is_echo(block):
            self._tools.show_refused()
            self._messages.chunk(slot, update, block)

    def _whole_message(self, chunk_kind: str, update: dict[str, Any]) -> None:
        """Replace a message (ACP v2); one without content only says that the message exists."""
        blocks = [block for block in as_list(update.get("content")) if isinstance(block, dict)]
        slot = SLOT_OF_UPDATE[chunk_kind]
        if slot == "user" and not self._session.state.loading:
            blocks = [block for block in blocks if not self._turns.is_echo(block)]
        if blocks:
            self._tools.show_refused()
            self._messages.replace(slot, update, blocks)
