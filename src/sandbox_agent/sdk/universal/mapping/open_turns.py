"""Turns: from the client's prompt to the agent's answer.

Every turn that starts ends. Before it ends, every open item is completed: as failed when the turn failed or
got no answer, tool calls also when it was cancelled.
"""

from __future__ import annotations

from typing import Any

from sandbox_agent.sdk.universal.events import ErrorData, TurnData
from sandbox_agent.sdk.universal.json_reading import as_list
from sandbox_agent.sdk.universal.mapping.content import block_part, block_text
from sandbox_agent.sdk.universal.mapping.emitter import Emitter
from sandbox_agent.sdk.universal.mapping.item_lifecycle import ItemLifecycle
from sandbox_agent.sdk.universal.mapping.message_items import Messages
from sandbox_agent.sdk.universal.mapping.tools import Tools
from sandbox_agent.sdk.universal.meta import is_replay, turn_id_of


class OpenTurns:
    """The open turns by the key of their prompt request, in the order of their start."""

    def __init__(self, out: Emitter, items: ItemLifecycle, messages: Messages, tools: Tools) -> None:
        self._out = out
        self._items = items
        self._messages = messages
        self._tools = tools
        self._open: dict[str, str] = {}
        self._echo_text = ""
        self._echo_blocks: list[Any] = []

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
        self._echo_text = "".join(block_text(block) or "" for block in blocks)
        self._echo_blocks = [block for block in blocks if block_text(block) is None]
        content = [block_part(block) for block in blocks if not is_replay(block)]
        if content:
            item = self._items.create("message", "user")
            self._items.whole(item, content, "completed", synthetic=True)

    def is_echo(self, block: dict[str, Any]) -> bool:
        """Whether a user chunk repeats the prompt of an open turn; text may come in pieces."""
        if not self._open:
            return False
        text = block_text(block)
        if text is None:
            return block in self._echo_blocks
        if not self._echo_text.startswith(text):
            return False
        self._echo_text = self._echo_text[len(text) :]
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
        data = TurnData(phase="ended", turn_id=turn_id, metadata=metadata)
        self._out.emit("turn.ended", data, synthetic=synthetic)
