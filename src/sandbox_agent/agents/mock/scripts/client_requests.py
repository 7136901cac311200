"""Scripts that ask the client: permissions, questions, forms, terminals and files.

What the client does not offer is not asked for. Every script ends by saying what it was told, so a test can
see that its answer arrived.
"""

from __future__ import annotations

import json
import os

from sandbox_agent.agents.mock import session_options, updates
from sandbox_agent.agents.mock.scripts.output import say
from sandbox_agent.agents.mock.scripts.steps import Ask, Cancelled, Update

TYPE_CHECKING = False  # as in typing, which is too slow to import here
if TYPE_CHECKING:
    from sandbox_agent.agents.mock.jsonrpc import Json
    from sandbox_agent.agents.mock.prompt import Prompt
    from sandbox_agent.agents.mock.scripts.steps import Reply, Script

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


def _permission_params(session_id: str, call: Json, choices: tuple[tuple[str, str, str], ...]) -> Json:
    tool_call = {key: value for key, value in call.items() if key != "sessionUpdate"}
    return {
        "sessionId": session_id,
        "toolCall": tool_call,
        "options": [{"optionId": choice, "name": name, "kind": kind} for choice, name, kind in choices],
    }


def _outcome(reply: Reply, choices: tuple[tuple[str, str, str], ...]) -> tuple[str | None, str]:
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


def permission(prompt: Prompt, rest: str) -> Script:
    choices = (*PERMISSION_OPTIONS, REJECT_ALWAYS) if rest.split()[:1] == ["all"] else PERMISSION_OPTIONS
    path = os.path.join(prompt.session.cwd, "notes.txt")
    call_id = updates.new_tool_call_id()
    change = updates.diff(path, None, "Hello from the mock agent.\n")
    call = updates.tool_call(
        call_id,
        "write_file",
        "Write notes.txt",
        "edit",
        rawInput={"path": path, "text": change["newText"]},
        locations=[{"path": path}],
        content=[change],
    )
    yield Update(call)
    try:
        reply = yield Ask(PERMISSION_METHOD, _permission_params(prompt.session.id, call, choices))
    except Cancelled:
        yield Update(updates.tool_update(call_id, "failed", rawOutput="cancelled"))
        raise
    kind, words = _outcome(reply, choices)
    if kind is not None and kind.startswith("allow"):
        yield Update(updates.tool_update(call_id, "in_progress"))
        yield Update(updates.tool_update(call_id, "completed", content=[change], rawOutput="written"))
    else:
        yield Update(updates.tool_update(call_id, "failed", rawOutput=f"not written: {words}"))
    yield say(f"Permission outcome: {words}")
    return None


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
    yield Update(call)
    reply = yield Ask(PERMISSION_METHOD, _permission_params(prompt.session.id, call, PLAN_OPTIONS))
    kind, words = _outcome(reply, PLAN_OPTIONS)
    if kind == "allow_once":
        prompt.session.choose("mode", "normal")
        yield Update(updates.tool_update(call_id, "completed", rawOutput="approved"))
        yield Update(session_options.mode_update(prompt.session.values))
        yield Update(session_options.config_update(prompt.session.values))
    else:
        yield Update(updates.tool_update(call_id, "failed", rawOutput=words))
    yield say(f"Plan outcome: {words}")
    return None


def question(prompt: Prompt, _rest: str) -> Script:
    words = prompt.text.lower()
    params: Json = {
        "sessionId": prompt.session.id,
        "questionId": updates.new_uuid(),
        "prompt": "Which option?",
        "options": QUESTION_OPTIONS,
    }
    if "multi" in words:
        params.update(prompt="Which options?", multiSelect=True)
    elif "free" in words:
        params.update(prompt="What is your name?", options=[])
    reply = yield Ask(QUESTION_METHOD, params, id_prefix="q-")
    yield say(_answer_in_words(reply))
    return None


def _answer_in_words(reply: Reply) -> str:
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
    reply = yield Ask(
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
    if prompt.client_has("terminal"):
        return (yield from _client_terminal(prompt, call_id, call))
    if prompt.client_has("_meta", "terminal_output"):
        shown = [{"type": "terminal", "terminalId": call_id}]
        about = {"terminal_id": call_id, "cwd": prompt.session.cwd}
        yield Update({**call, "content": shown, "_meta": {**call["_meta"], "terminal_info": about}})
        output = {"terminal_id": call_id, "data": "hello\r\n"}
        yield Update(updates.tool_update(call_id, "in_progress", _meta={"terminal_output": output}))
        ended = {"terminal_id": call_id, "exit_code": 0, "signal": None}
        yield Update(updates.tool_update(call_id, "completed", _meta={"terminal_exit": ended}))
    else:
        yield Update(call)
        for text in ("hel", "hello\n"):
            shown = [updates.tool_text(text)]
            yield Update(updates.tool_update(call_id, "in_progress", content=shown))
        yield Update(
            updates.tool_update(
                call_id, "completed", content=shown, rawOutput={"stdout": "hello\n", "exitCode": 0}
            )
        )
    yield say("The command printed hello.")
    return None


def _client_terminal(prompt: Prompt, call_id: str, call: Json) -> Script:
    session_id = prompt.session.id
    yield Update(call)
    created = yield Ask(
        "terminal/create",
        {"sessionId": session_id, "command": "echo", "args": ["hello"], "cwd": prompt.session.cwd},
    )
    terminal_id = created.field("terminalId")
    if not isinstance(terminal_id, str):
        yield Update(updates.tool_update(call_id, "failed", rawOutput=created.error or created.result))
        yield say("The client's terminal could not be used.")
        return None
    which = {"sessionId": session_id, "terminalId": terminal_id}
    shown = [{"type": "terminal", "terminalId": terminal_id}]
    yield Update(updates.tool_update(call_id, "in_progress", content=shown))
    ended = yield Ask("terminal/wait_for_exit", which)
    output = yield Ask("terminal/output", which)
    yield Update(updates.tool_update(call_id, "completed", content=shown, rawOutput=output.result))
    yield Ask("terminal/release", which)
    yield say(f"The command left with {ended.field('exitCode')} and printed {output.field('output')!r}.")
    return None


def read(prompt: Prompt, rest: str) -> Script | None:
    if not rest.startswith("/") or "\n" in rest or not prompt.client_has("fs", "readTextFile"):
        return None

    def run() -> Script:
        reply = yield Ask("fs/read_text_file", {"sessionId": prompt.session.id, "path": rest})
        content = reply.field("content")
        yield say(
            f"The file says: {content}"
            if isinstance(content, str)
            else f"The file could not be read: {json.dumps(reply.error)}"
        )
        return None

    return run()
