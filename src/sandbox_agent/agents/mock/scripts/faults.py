"""Scripts that fail or send bad output on purpose: what a bridge and a client must survive."""

from __future__ import annotations

import os

from sandbox_agent.agents.mock import updates
from sandbox_agent.agents.mock.jsonrpc_lines import JsonRpcError, encode_message
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.arguments import numbers, without_arguments
from sandbox_agent.agents.mock.scripts.script_steps import (
    EndSession,
    RunAction,
    Script,
    SendNotification,
    SendUpdate,
    WriteRaw,
)
from sandbox_agent.agents.mock.scripts.update_scripts import say
from sandbox_agent.jsonrpc_error_codes import AUTH_REQUIRED, INTERNAL_ERROR, INVALID_PARAMS

FLOOD_BATCH = 64
STDERR_LINE = b"x" * 79 + b"\n"
FAILURES = {
    INTERNAL_ERROR: "Internal error",
    AUTH_REQUIRED: "Authentication required",
    INVALID_PARAMS: "Invalid params",
}


def error(prompt: Prompt, _rest: str) -> Script:
    call_id = updates.new_tool_call_id()
    yield SendUpdate(
        updates.tool_call(call_id, "fetch", "Fetch a page", "fetch", rawInput={"page": "missing"})
    )
    yield SendUpdate(
        updates.tool_update(
            call_id, "failed", content=[updates.tool_text("404 Not Found")], rawOutput={"status": 404}
        )
    )
    where = {"sessionId": prompt.session.id}
    yield SendNotification(
        "_sandboxagent/error",
        {**where, "message": "Something went wrong", "code": "mock_error", "details": {"mock": True}},
    )
    yield SendNotification(
        "_sandboxagent/agent/unparsed",
        {**where, "error": "not JSON", "location": "mock", "raw_hash": None},
    )
    yield say("This was an error, but only a scripted one.")
    return None


@without_arguments
def end(prompt: Prompt) -> Script:
    yield say("Goodbye.")
    yield SendNotification(
        "_sandboxagent/session/ended",
        {"sessionId": prompt.session.id, "reason": "completed", "terminated_by": "agent"},
    )
    yield EndSession()
    return None


def fail(_prompt: Prompt, rest: str) -> Script | None:
    if rest and not rest.removeprefix("-").isdecimal():
        return None
    code = int(rest) if rest else INTERNAL_ERROR

    def run() -> Script:
        yield say("I shall fail now.")
        raise JsonRpcError(code, FAILURES.get(code, "The mock agent failed"), {"reason": "asked to fail"})

    return run()


def refuse(_prompt: Prompt, _rest: str) -> Script:
    yield say("I would rather not.")
    return "refusal"


def max_tokens(_prompt: Prompt, _rest: str) -> Script:
    yield say("There was so much more to s")
    return "max_tokens"


def max_turn_requests(_prompt: Prompt, _rest: str) -> Script:
    yield say("I have asked the model often enough.")
    return "max_turn_requests"


def flood(prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 2)
    if not given:
        return None
    count, padding = given[0], given[1] if len(given) == 2 else 0

    def run() -> Script:
        # Encoded once: otherwise this process, not its reader, would be the bottleneck.
        mark = "\x00"
        update = updates.message_chunk(updates.text_block(mark + "." * padding + "\n"), updates.new_uuid())
        params = {"sessionId": prompt.session.id, "update": update}
        line = encode_message({"jsonrpc": "2.0", "method": "session/update", "params": params})
        before, after = line.split(b"\\u0000")
        for start in range(1, count + 1, FLOOD_BATCH):
            batch = range(start, min(start + FLOOD_BATCH, count + 1))
            yield WriteRaw(b"".join([b"%b%d%b" % (before, number, after) for number in batch]))
        return None

    return run()


def big(_prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 1)
    if not given:
        return None
    size = given[0]

    def run() -> Script:
        yield SendUpdate(updates.message("x" * size), keep=False)
        return None

    return run()


def garbage(_prompt: Prompt, _rest: str) -> Script:
    yield WriteRaw(b"This line is not JSON.\n")
    yield WriteRaw(b"\xff\xfe\x80 is not UTF-8\n")
    yield WriteRaw(b'{"jsonrpc":"2.0","method":\n')
    yield say("I have printed three lines that are no messages.")
    return None


def stderr(_prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 1)
    if given is None:
        return None
    size = given[0] if given else len(STDERR_LINE)

    def write() -> None:
        remaining = size
        while remaining > 0:
            remaining -= os.write(2, STDERR_LINE[-remaining:])

    def run() -> Script:
        yield RunAction(write)
        yield say(f"I have written {size} bytes to stderr.")
        return None

    return run()
