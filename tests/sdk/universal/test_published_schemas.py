"""Every update that the published schemas of ACP name is known: none is an event for unknown messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.sdk.universal import UniversalMapper
from tests.support.clients.published_clients import packages as packages

pytestmark = [pytest.mark.node, pytest.mark.network]

CONTENT = {"content": {"type": "text", "text": "x"}}
FIELDS: dict[str, dict[str, Any]] = {
    "tool_call": {"toolCallId": "t", "title": "Tool"},
    "tool_call_update": {"toolCallId": "t"},
    "tool_call_content_chunk": {"toolCallId": "t", "content": {"type": "content", **CONTENT}},
    "terminal_update": {"terminalId": "e"},
    "terminal_output_chunk": {"terminalId": "e", "data": "eA=="},
    "state_update": {"state": "running"},
    "plan": {"entries": []},
    "plan_update": {"plan": {"type": "items", "planId": "p", "entries": []}},
    "available_commands_update": {"availableCommands": []},
    "config_option_update": {"configOptions": []},
    "current_mode_update": {"currentModeId": "normal"},
    "usage_update": {"used": 1, "size": 2},
    "session_info_update": {"title": "Title"},
    "notice": {"severity": "info", "title": "Notice"},
    "compaction_update": {"compactionId": "c", "status": "in_progress"},
    "compaction_summary_chunk": {"compactionId": "c", **CONTENT},
    **{f"{role}_message": {"messageId": "m", "content": [CONTENT["content"]]} for role in ("user", "agent")},
    "agent_thought": {"messageId": "m", "content": [CONTENT["content"]]},
}


@pytest.mark.clause("acp-v2-sdk")
@pytest.mark.parametrize("version", [1, 2])
def test_no_update_is_unknown(packages: Path, version: int) -> None:
    path = packages / "@agentclientprotocol" / "sdk" / "schema" / f"v{version}" / "schema.json"
    definition = json.loads(path.read_text())["$defs"]["SessionUpdate"]
    variants = definition.get("oneOf") or definition["anyOf"]
    kinds = [one["properties"]["sessionUpdate"].get("const") for one in variants]
    kinds = [kind for kind in kinds if kind]
    assert len(kinds) >= 14
    for kind in kinds:
        mapper = UniversalMapper("s")
        update = {"sessionUpdate": kind, **FIELDS.get(kind, {"messageId": "m", **CONTENT})}
        message = {
            "jsonrpc": "2.0",
            "method": "session/update",
            "params": {"sessionId": "n", "update": update},
        }
        events = mapper.feed(message, "agent", time=0)
        assert all(event.type != "agent.unparsed" for event in events), kind
        items = [getattr(event.data, "item", None) for event in events]
        assert all(item is None or item.kind != "unknown" for item in items), kind
