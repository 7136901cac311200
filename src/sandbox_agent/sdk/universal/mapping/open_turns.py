"""Turns: from the client's prompt to the agent's answer.

Every turn that starts ends. Before it ends, every open item is completed: as failed when the turn failed or
got no answer, tool calls also when it was cancelled.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from sandbox_agent.sdk.universal.event_data import ErrorData, TurnData
from sandbox_agent.sdk.universal.json_reading import as_dict, as_list, as_text, json_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.items.content import block_part, block_text
from sandbox_agent.sdk.universal.mapping.items.item_lifecycle import ItemLifecycle
from sandbox_agent.sdk.universal.mapping.items.message_items import Messages
from sandbox_agent.sdk.universal.mapping.items.tool_items import Tools
from sandbox_agent.sdk.universal.meta import is_replay, turn_id_of


class TurnsState(Struct):
    """The open turns, and what is left of the last prompt that an agent may repeat."""

    open: dict[str, str] = {}
    accepted: set[str] = set()
    """Open turns that end with the idle state of the agent (ACP v2)."""
    echo_text: str = ""
    echo_blocks: list[Any] = []


class OpenTurns:
    """The open turns by the key of their prompt request, in the order of their start."""

    def __init__(
        self, out: Emitter, items: ItemLifecycle, messages: Messages, tools: Tools, state: TurnsState
    ) -> None:
        self._out = out
        self._items = items
        self._messages = messages
        self._tools = tools
        self._state = state
        self._open = state.open

    @property
    def open_turn_ids(self) -> list[str]:
        """The ids of the turns that have no answer yet."""
        return list(self._open.values())

    def start(self, key: str, params: dict[str, Any]) -> None:
        """A prompt was accepted; the same request sent twice gives one turn."""
        if key in self._open:
            return
        self._messages.close_all("completed")
        turn_id = self._open[key] = turn_id_of(params) or self._out.new_id("turn")
        self._out.emit("turn.started", TurnData(phase="started", turn_id=turn_id), synthetic=True)
        blocks = [block for block in as_list(params.get("prompt")) if isinstance(block, dict)]
        self._state.echo_text = "".join(block_text(block) or "" for block in blocks)
        self._state.echo_blocks = [block for block in blocks if block_text(block) is None]
        content = [block_part(block) for block in blocks if not is_replay(block)]
        if content:
            item = self._items.create("message", "user")
            self._items.whole(item, content, "completed", synthetic=True)

    def steered(self, params: dict[str, Any]) -> None:
        """The client has added a message to the open turn."""
        blocks = [block for block in as_list(params.get("prompt")) if isinstance(block, dict)]
        if not self._open or not blocks:
            return
        self._messages.close_all("completed")
        self._state.echo_text += "".join(block_text(block) or "" for block in blocks)
        item = self._items.create("message", "user")
        self._items.whole(item, [block_part(block) for block in blocks], "completed", synthetic=True)

    def is_echo(self, block: dict[str, Any]) -> bool:
        """Whether a user chunk repeats the prompt of an open turn; text may come in pieces."""
        if not self._open:
            return False
        text = block_text(block)
        if text is None:
            return block in self._state.echo_blocks
        if not self._state.echo_text.startswith(text):
            return False
        self._state.echo_text = self._state.echo_text[len(text) :]
        return True

    def answered(self, key: str, result: dict[str, Any]) -> None:
        """The agent answered the prompt."""
        stop_reason = result.get("stopReason")
        self._messages.close_all("completed")
        self._tools.close_all("failed" if stop_reason == "cancelled" else "completed")
        metadata = {"stopReason": stop_reason}
        if result.get("usage") is not None:
            metadata["usage"] = result["usage"]
        self._end(key, metadata, synthetic=False)

    def accepted(self, key: str) -> None:
        """The agent has accepted the prompt (ACP v2); its turn ends with the next idle state."""
        self._state.accepted.add(key)

    def idle(self, state: dict[str, Any]) -> None:
        """The agent is idle (ACP v2): the accepted prompts have ended."""
        for key in [key for key in self._open if key in self._state.accepted]:
            if state.get("stopReason") != "error":
                self.answered(key, state)
                continue
            error = as_dict(state.get("error"))
            code = error.get("code")
            text = as_text(error.get("message")) or "the turn failed"
            data = ErrorData(text, None if code is None else json_text(code), error.get("data"))
            self.failed(key, data, synthetic=False)

    def failed(self, key: str, error: ErrorData, *, synthetic: bool) -> None:
        """The prompt was answered with an error, or will not be answered."""
        self._messages.close_all("failed")
        self._tools.close_all("failed")
        self._out.emit("error", error, synthetic=synthetic)
        self._end(key, {"error": True}, synthetic=synthetic)

    def abandon(self, message: str, code: str) -> None:
        """End every open turn because no answer can come."""
        for key in list(self._open):
            self.failed(key, ErrorData(message, code, None), synthetic=True)
        self._messages.close_all("failed")
        self._tools.close_all("failed")

    def is_open(self, key: str) -> bool:
        """Whether this prompt has no answer yet."""
        return key in self._open

    def _end(self, key: str, metadata: dict[str, Any], *, synthetic: bool) -> None:
        turn_id = self._open.pop(key)
        self._state.accepted.discard(key)
        data = TurnData(phase="ended", turn_id=turn_id, metadata=metadata)
        self._out.emit("turn.ended", data, synthetic=synthetic)
