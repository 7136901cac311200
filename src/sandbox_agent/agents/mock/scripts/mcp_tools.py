"""`mcp`: use the tools of the session's MCP servers, as real agents do.

The servers of type stdio are started for each command. The exchange runs in a thread, because a script must
not block; a cancelled turn ends the servers.
"""

from __future__ import annotations

import json
from typing import Any

from sandbox_agent.agents.mock import updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.script_steps import Pause, Script, SendUpdate
from sandbox_agent.agents.mock.scripts.update_scripts import say

_POLL_S = 0.02


def mcp(prompt: Prompt, rest: str) -> Script | None:
    name, _, text = rest.partition(" ")
    try:
        arguments: Any = json.loads(text or "{}")
    except ValueError:
        return None
    return _run(prompt, name.strip(), arguments) if isinstance(arguments, dict) else None


def _run(prompt: Prompt, name: str, arguments: Json) -> Script:
    from sandbox_agent.agents.mock.mcp_client import ToolCall  # loads subprocess and threading

    call_id = updates.new_tool_call_id()
    if name:
        yield SendUpdate(updates.tool_call(call_id, name, name, "other", rawInput=arguments))
    work = ToolCall(prompt.session.mcp_servers, name, arguments)
    work.start()
    try:
        while work.is_alive():
            yield Pause(_POLL_S)
    finally:
        work.close()
    if not name:
        yield say(work.failure or "My tools: " + ", ".join(work.names))
        return None
    result = work.result or {"content": [{"type": "text", "text": work.failure}], "isError": True}
    shown = "\n".join(str(part.get("text", "")) for part in result.get("content", ()))
    failed = bool(result.get("isError"))
    status = "failed" if failed else "completed"
    yield SendUpdate(
        updates.tool_update(call_id, status, content=[updates.tool_text(shown)], rawOutput=result)
    )
    yield say(f"The tool failed: {shown}" if failed else f"The tool said: {shown}")
    return None
