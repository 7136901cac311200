"""Scripts that ask the user: permissions, plan approval, questions and forms.

Each script ends with a message that repeats the answer, so a test can see that it arrived.
"""

from __future__ import annotations

import json
import os
from itertools import takewhile
from typing import NamedTuple

from sandbox_agent.agents.mock import config_options, updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.newer_updates import elicit_url
from sandbox_agent.agents.mock.scripts.script_steps import (
    ClientReply,
    Script,
    SendRequest,
    SendUpdate,
    TurnCancelled,
)
from sandbox_agent.agents.mock.scripts.update_scripts import say

PERMISSION_METHOD = "session/request_permission"
QUESTION_METHOD = "_sandboxagent/session/request_question"

PERMISSION_OPTIONS = (
    ("allow-once", "Allow once", "allow_once"),
    ("allow-always", "Allow always", "allow_always"),
    ("reject-once", "Reject", "reject_once"),
)
REJECT_ALWAYS = ("reject-always", "Reject always", "reject_always")
PLAN_OPTIONS = (
    ("exit-plan-normal", "Yes, and work in normal mode", "allow_once"),
    ("keep-planning", "No, keep planning", "reject_once"),
)
QUESTION_OPTIONS = [["option-a", "Option A"], ["option-b", "Option B"], ["option-c", "Option C"]]
_NOTES = "Hello from the mock agent.\n"


class _Tool(NamedTuple):
    """A tool that asks; `done` is what a call has done."""

    name: str
    title: str
    kind: str
    done: str


_WRITE = _Tool("write_file", "Write notes.txt", "edit", "written")
_READ = _Tool("read_file", "Read notes.txt", "read", "read")


def _permission_params(session_id: str, call: Json, choices: tuple[tuple[str, str, str], ...]) -> Json:
    tool_call = {key: value for key, value in call.items() if key != "sessionUpdate"}
    return {
        "sessionId": session_id,
        "toolCall": tool_call,
        "options": [{"optionId": choice, "name": name, "kind": kind} for choice, name, kind in choices],
        "_meta": updates.product_meta(**updates.legacy_event(session_id)),
    }


def _outcome(reply: ClientReply, choices: tuple[tuple[str, str, str], ...]) -> tuple[str | None, str]:
    """The kind of the option taken (None: nothing was allowed or rejected) and words for it."""
    if reply.error is not None:
        return None, f"the client answered with an error: {json.dumps(reply.error)}"
    outcome = reply.field("outcome")
    if isinstance(outcome, dict) and outcome.get("outcome") == "cancelled":
        return None, "cancelled"
    if isinstance(outcome, dict) and outcome.get("outcome") == "selected":
        for choice, _, kind in choices:
            if choice == outcome.get("optionId"):
                return kind, f"selected {choice} ({kind})"
        return None, f"unknown option {outcome.get('optionId')!r}"
    return None, f"not understood: {json.dumps(reply.result)}"


def _changed_input(reply: ClientReply) -> Json | None:
    """The input of the tool that the user has changed, None if it is that of the agent."""
    root = reply.field("_meta")
    own = root.get("sandboxagent.dev") if isinstance(root, dict) else None
    changed = own.get("updatedInput") if isinstance(own, dict) else None
    return changed if isinstance(changed, dict) else None


def permission(prompt: Prompt, rest: str) -> Script:
    words = set(takewhile(("all", "read").__contains__, rest.split()))
    choices = (*PERMISSION_OPTIONS, REJECT_ALWAYS) if "all" in words else PERMISSION_OPTIONS
    tool = _READ if "read" in words else _WRITE
    path = os.path.join(prompt.session.cwd, "notes.txt")
    call_id = updates.new_tool_call_id()
    given = {"path": path} if tool is _READ else {"path": path, "text": _NOTES}
    call = updates.tool_call(
        call_id, tool.name, tool.title, tool.kind, rawInput=given, locations=[{"path": path}]
    )
    if tool is _WRITE:
        call["content"] = _result(tool, given)
    yield SendUpdate(call)
    try:
        reply = yield SendRequest(PERMISSION_METHOD, _permission_params(prompt.session.id, call, choices))
    except TurnCancelled:
        yield SendUpdate(updates.tool_update(call_id, "failed", rawOutput="cancelled"))
        raise
    kind, outcome = _outcome(reply, choices)
    if kind is not None and kind.startswith("allow"):
        changed = _changed_input(reply)
        if changed is not None:
            given = {"path": path, **changed}
            yield SendUpdate(updates.tool_update(call_id, "in_progress", rawInput=changed))
        else:
            yield SendUpdate(updates.tool_update(call_id, "in_progress"))
        content = _result(tool, given)
        yield SendUpdate(updates.tool_update(call_id, "completed", content=content, rawOutput=tool.done))
    else:
        yield SendUpdate(updates.tool_update(call_id, "failed", rawOutput=f"not {tool.done}: {outcome}"))
    yield say(f"Permission outcome: {outcome}")
    return None


def _result(tool: _Tool, given: Json) -> list[Json]:
    """What the tool shows: the file that it writes, or the text that it reads."""
    if tool is _READ:
        return [updates.tool_text(_NOTES)]
    return [updates.diff(str(given["path"]), None, str(given.get("text", "")))]


def plan_approval(prompt: Prompt, _rest: str) -> Script:
    """The plan is ready; may the agent leave plan mode? This is how Claude's ExitPlanMode looks."""
    call_id = updates.new_tool_call_id()
    call = updates.tool_call(
        call_id,
        "ExitPlanMode",
        "Ready to code?",
        "switch_mode",
        rawInput={"plan": "1. Read\n2. Change\n3. Test"},
        content=[updates.tool_text("1. Read\n2. Change\n3. Test")],
    )
    yield SendUpdate(call)
    reply = yield SendRequest(PERMISSION_METHOD, _permission_params(prompt.session.id, call, PLAN_OPTIONS))
    kind, words = _outcome(reply, PLAN_OPTIONS)
    if kind == "allow_once":
        prompt.session.choose("mode", "normal")
        yield SendUpdate(updates.tool_update(call_id, "completed", rawOutput="approved"))
        yield SendUpdate(config_options.mode_update(prompt.session.values))
        yield SendUpdate(config_options.config_update(prompt.session.values))
    else:
        yield SendUpdate(updates.tool_update(call_id, "failed", rawOutput=words))
    yield say(f"Plan outcome: {words}")
    return None


def question(prompt: Prompt, _rest: str) -> Script:
    words = prompt.text.lower()
    params: Json = {
        "sessionId": prompt.session.id,
        "questionId": updates.new_uuid(),
        "prompt": "Which option?",
        "options": QUESTION_OPTIONS,
        "_meta": updates.product_meta(**updates.legacy_event(prompt.session.id)),
    }
    if "multi" in words:
        params.update(prompt="Which options?", multiSelect=True)
    elif "free" in words:
        params.update(prompt="What is your name?", options=[])
    reply = yield SendRequest(QUESTION_METHOD, params, id_prefix="q-")
    yield say(_answer_in_words(reply))
    return None


def _answer_in_words(reply: ClientReply) -> str:
    if reply.error is not None:
        return f"The question got an error: {json.dumps(reply.error)}"
    answers = reply.field("answers")
    if reply.field("status") == "answered" and isinstance(answers, list):
        picked = [", ".join(map(str, answer)) for answer in answers if isinstance(answer, list)]
        return f"You answered: {'; '.join(picked) or 'nothing'}"
    if reply.field("status") == "rejected":
        return "You rejected the question."
    return f"The answer was not understood: {json.dumps(reply.result)}"


def elicit(prompt: Prompt, rest: str) -> Script:
    if rest == "url" and prompt.client_has("elicitation", "url"):
        return (yield from elicit_url(prompt))
    if not prompt.client_has("elicitation", "form"):
        return (yield from question(prompt, rest))
    colours = [{"const": "red", "title": "Red"}, {"const": "green", "title": "Green"}]
    toppings = [{"const": "cheese", "title": "Cheese"}, {"const": "olives", "title": "Olives"}]
    schema = {
        "type": "object",
        "title": "A few questions",
        "properties": {
            "colour": {"type": "string", "title": "Which colour?", "oneOf": colours},
            "toppings": {"type": "array", "title": "Which toppings?", "items": {"anyOf": toppings}},
            "fast": {"type": "boolean", "title": "Be quick?", "default": False},
            "count": {"type": "integer", "title": "How many?", "minimum": 1, "maximum": 9},
            "name": {"type": "string", "title": "Your name?"},
        },
        "required": ["colour"],
    }
    reply = yield SendRequest(
        "elicitation/create",
        {
            "mode": "form",
            "sessionId": prompt.session.id,
            "message": "The mock agent would like to know:",
            "requestedSchema": schema,
        },
    )
    action = reply.field("action")
    if action == "accept":
        yield say(f"You accepted: {json.dumps(reply.field('content'), sort_keys=True)}")
    elif action in ("decline", "cancel"):
        yield say(f"You answered: {action}")
    else:
        yield say(_answer_in_words(reply))
    return None
