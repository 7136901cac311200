"""Scripts that use what the client offers: terminals and files.

A capability that the client did not declare is not used.
"""

from __future__ import annotations

import json

from sandbox_agent.agents.mock import updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.newer_updates import terminal_v2
from sandbox_agent.agents.mock.scripts.script_steps import Script, SendRequest, SendUpdate
from sandbox_agent.agents.mock.scripts.update_scripts import say


def terminal(prompt: Prompt, _rest: str) -> Script:
    """The client's own terminal if it has one, else output in `_meta` if it reads that, else text."""
    call_id = updates.new_tool_call_id()
    call = updates.tool_call(
        call_id,
        "bash",
        "echo hello",
        "execute",
        rawInput={"command": "echo hello", "cwd": prompt.session.cwd},
    )
    if prompt.version != 1:
        return (yield from terminal_v2(call_id, call, prompt.session.cwd))
    if prompt.client_has("terminal"):
        return (yield from _client_terminal(prompt, call_id, call))
    if prompt.client_has("_meta", "terminal_output"):
        shown = [{"type": "terminal", "terminalId": call_id}]
        about = {"terminal_id": call_id, "cwd": prompt.session.cwd}
        yield SendUpdate({**call, "content": shown, "_meta": {**call["_meta"], "terminal_info": about}})
        output = {"terminal_id": call_id, "data": "hello\r\n"}
        yield SendUpdate(updates.tool_update(call_id, "in_progress", _meta={"terminal_output": output}))
        ended = {"terminal_id": call_id, "exit_code": 0, "signal": None}
        yield SendUpdate(updates.tool_update(call_id, "completed", _meta={"terminal_exit": ended}))
    else:
        yield SendUpdate(call)
        for text in ("hel", "hello\n"):
            shown = [updates.tool_text(text)]
            yield SendUpdate(updates.tool_update(call_id, "in_progress", content=shown))
        yield SendUpdate(
            updates.tool_update(
                call_id, "completed", content=shown, rawOutput={"stdout": "hello\n", "exitCode": 0}
            )
        )
    yield say("The command printed hello.")
    return None


def _client_terminal(prompt: Prompt, call_id: str, call: Json) -> Script:
    session_id = prompt.session.id
    yield SendUpdate(call)
    created = yield SendRequest(
        "terminal/create",
        {"sessionId": session_id, "command": "echo", "args": ["hello"], "cwd": prompt.session.cwd},
    )
    terminal_id = created.field("terminalId")
    if not isinstance(terminal_id, str):
        yield SendUpdate(updates.tool_update(call_id, "failed", rawOutput=created.error or created.result))
        yield say("The client's terminal could not be used.")
        return None
    which = {"sessionId": session_id, "terminalId": terminal_id}
    shown = [{"type": "terminal", "terminalId": terminal_id}]
    yield SendUpdate(updates.tool_update(call_id, "in_progress", content=shown))
    ended = yield SendRequest("terminal/wait_for_exit", which)
    output = yield SendRequest("terminal/output", which)
    yield SendUpdate(updates.tool_update(call_id, "completed", content=shown, rawOutput=output.result))
    yield SendRequest("terminal/release", which)
    yield say(f"The command left with {ended.field('exitCode')} and printed {output.field('output')!r}.")
    return None


def read(prompt: Prompt, rest: str) -> Script | None:
    if not rest.startswith("/") or "\n" in rest or not prompt.client_has("fs", "readTextFile"):
        return None

    def run() -> Script:
        reply = yield SendRequest("fs/read_text_file", {"sessionId": prompt.session.id, "path": rest})
        content = reply.field("content")
        yield say(
            f"The file says: {content}"
            if isinstance(content, str)
            else f"The file could not be read: {json.dumps(reply.error)}"
        )
        return None

    return run()
