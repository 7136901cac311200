"""Scripts with the updates that ACP has since 2026: notices, compaction, and whole messages of v2."""

from __future__ import annotations

from base64 import b64encode

from sandbox_agent.agents.mock import updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.script_steps import Script, SendNotification, SendRequest, SendUpdate
from sandbox_agent.agents.mock.scripts.update_scripts import say


def notice(prompt: Prompt, rest: str) -> Script:
    if prompt.version == 1 and not prompt.client_has("session", "notices"):
        yield say(rest or "This client shows no notices.")
        return None
    for severity in ("info", "warning", "error"):
        text = rest or f"A notice of severity {severity}"
        update = {"sessionUpdate": "notice", "severity": severity, "title": text}
        yield SendUpdate({**update, "description": "It needs no answer."})
    yield say("These were three notices.")
    return None


def compact(prompt: Prompt, rest: str) -> Script:
    """The context is compacted: begun, summarised in chunks, completed or failed."""
    if prompt.version == 1 and not prompt.client_has("session", "compaction"):
        yield say("The compaction failed." if rest == "fail" else "The context is compacted.")
        return None
    compaction_id = updates.new_uuid()

    def update(status: str, **more: object) -> SendUpdate:
        about = {"sessionUpdate": "compaction_update", "compactionId": compaction_id, "status": status}
        return SendUpdate({**about, **more})

    yield update("in_progress")
    if rest == "fail":
        yield update("failed", error="the summary was too long")
        yield say("The compaction failed.")
        return None
    for text in ("So far we ", "talked about mocks."):
        content = updates.text_block(text)
        chunk = {"sessionUpdate": "compaction_summary_chunk", "compactionId": compaction_id}
        yield SendUpdate({**chunk, "content": content})
    yield update("completed", summary=[updates.text_block("So far we talked about mocks.")])
    yield say("The context is compacted.")
    return None


def upsert(prompt: Prompt, _rest: str) -> Script | None:
    """v2 only: a thought and a message that are streamed first and then replaced as a whole."""
    if prompt.version == 1:
        return None

    def run() -> Script:
        for kind, begun, final in (
            ("agent_thought", "I thi", "I think it over."),
            ("agent_message", "A first dra", "The final text."),
        ):
            message_id = updates.new_uuid()
            about: Json = {"messageId": message_id}
            chunk = {"sessionUpdate": f"{kind}_chunk", **about, "content": updates.text_block(begun)}
            yield SendUpdate(chunk, keep=False)
            yield SendUpdate({"sessionUpdate": kind, **about, "content": [updates.text_block(final)]})
        return None

    return run()


def terminal_v2(call_id: str, call: Json, cwd: str) -> Script:
    """A command whose terminal the agent shows itself."""
    terminal_id = "term_" + call_id
    about = {"sessionUpdate": "terminal_update", "terminalId": terminal_id}
    yield SendUpdate({**about, "command": "echo hello", "cwd": cwd})
    yield SendUpdate({**call, "content": [{"type": "terminal", "terminalId": terminal_id}]})
    for part in (b"hel", b"lo\r\n"):
        data = b64encode(part).decode()
        yield SendUpdate({"sessionUpdate": "terminal_output_chunk", "terminalId": terminal_id, "data": data})
    yield SendUpdate({**about, "exitStatus": {"exitCode": 0, "signal": None}})
    yield SendUpdate(updates.tool_update(call_id, "completed", rawOutput={"exitCode": 0}))
    yield say("The command printed hello.")
    return None


def elicit_url(prompt: Prompt) -> Script:
    """Ask the user to visit a page, and say when that is done."""
    elicitation_id = updates.new_uuid()
    params = {
        "mode": "url",
        "sessionId": prompt.session.id,
        "elicitationId": elicitation_id,
        "url": "https://example.com/login",
        "message": "Please log in.",
    }
    reply = yield SendRequest("elicitation/create", params)
    if reply.field("action") == "accept":
        yield SendNotification("elicitation/complete", {"elicitationId": elicitation_id})
    yield say(f"You answered: {reply.field('action')}")
    return None
