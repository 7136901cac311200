"""The words of the mock agent: which script a prompt starts.

The first word of the prompt decides, with or without a slash in front; "question" counts wherever it
stands. What is no command, or has arguments that do not fit, is echoed.
"""

from __future__ import annotations

import time

from sandbox_agent.agents.mock import session_options, updates
from sandbox_agent.agents.mock.scripts import client_requests, faults, output
from sandbox_agent.agents.mock.scripts.output import say
from sandbox_agent.agents.mock.scripts.steps import Update
from sandbox_agent.agents.mock.sessions import iso_time

TYPE_CHECKING = False  # as in typing, which is too slow to import here
if TYPE_CHECKING:
    from collections.abc import Callable

    from sandbox_agent.agents.mock.jsonrpc import Json
    from sandbox_agent.agents.mock.prompt import Prompt
    from sandbox_agent.agents.mock.scripts.steps import Script

    Start = Callable[[Prompt, str], Script | None]


def help_text(_prompt: Prompt, _rest: str) -> Script:
    rows = [f"- `{f'{word} {arguments}'.strip()}`: {summary}" for word, arguments, summary, _ in COMMANDS]
    yield say("\n".join(["I am the mock agent. I understand:", "", *rows, "", "Anything else I repeat."]))
    return None


def commands(_prompt: Prompt, _rest: str) -> Script:
    yield Update(available_commands())
    yield say("I have announced my commands.")
    return None


def status(prompt: Prompt, _rest: str) -> Script:
    session = prompt.session
    yield Update(updates.plan(("Show the status items", "high", "in_progress")))
    yield Update(session.usage_update())
    yield Update(session_options.mode_update(session.values))
    yield Update(session_options.config_update(session.values))
    yield Update(available_commands())
    yield Update(updates.session_info(session.title, iso_time(time.time())))
    yield Update(updates.plan(("Show the status items", "high", "completed")))
    yield say("These were the status items.")
    return None


def demo(prompt: Prompt, rest: str) -> Script:
    for part in DEMO:
        yield from part(prompt, rest)
    yield Update(prompt.session.usage_update())
    return None


def plan(prompt: Prompt, rest: str) -> Script:
    chosen = client_requests.plan_approval if rest.split()[:1] == ["approval"] else output.plan
    return chosen(prompt, rest)


# word, arguments, what it shows, script
COMMANDS: tuple[tuple[str, str, str, Start], ...] = (
    ("help", "", "all commands", help_text),
    ("demo", "", "everything a client has to draw, in one turn", demo),
    ("echo", "<text>", "the text as one message", output.echo),
    ("markdown", "", "streamed Markdown", output.markdown),
    ("think", "", "thoughts, more of them at a higher thought level", output.think),
    ("plan", "[approval]", "a plan and its progress; or ask to leave plan mode", plan),
    ("tool", "", "a tool call and its result with file references", output.tool),
    ("diff", "", "tool calls that change one file and create another", output.diff),
    ("terminal", "", "a command and its output, in the way the client supports", client_requests.terminal),
    ("read", "<path>", "read a file through the client, if it offers that", client_requests.read),
    ("image", "", "a message with a picture", output.image),
    ("status", "", "every update that is a status item", status),
    ("usage", "", "tokens and cost so far", output.usage),
    ("commands", "", "announce these commands", commands),
    ("title", "[text]", "give the session a title", output.title),
    ("info", "", "what I know about my process, session and client", output.info),
    ("permission", "[all]", "ask for permission; all: with reject_always too", client_requests.permission),
    ("question", "", "ask a question (multi: several answers, free: no options)", client_requests.question),
    ("elicit", "", "ask with a form, else with a question", client_requests.elicit),
    ("stream", "<n> [interval_ms]", "n message chunks", output.stream),
    ("slow", "<ms>", "answer after a pause", output.slow),
    ("error", "", "a failed tool, an error and an unparsed notification", faults.error),
    ("end", "", "end the session", faults.end),
    ("refuse", "", "stop reason refusal", faults.refuse),
    ("max_tokens", "", "stop reason max_tokens", faults.max_tokens),
    ("max_turn_requests", "", "stop reason max_turn_requests", faults.max_turn_requests),
    ("fail", "[code]", "answer with a JSON-RPC error", faults.fail),
    ("flood", "<n> [bytes]", "n notifications as fast as possible", faults.flood),
    ("big", "<bytes>", "one big line", faults.big),
    ("garbage", "", "lines that are no JSON or no UTF-8", faults.garbage),
    ("stderr", "[bytes]", "write to stderr", faults.stderr),
    ("crash", "[code]", "leave at once without an answer", faults.crash),
    ("kill", "[signal]", "send myself a signal", faults.kill),
    ("exit", "", "answer, then leave with 0", faults.leave),
    ("hang", "[hard]", "never answer; hard: not even when cancelled", faults.hang),
    ("deaf", "", "answer, then never read stdin again", faults.deaf),
    ("stubborn", "", "answer, then ignore signals and the end of stdin", faults.stubborn),
    ("child", "[seconds]", "start a sleeping process in a session of its own", faults.child),
)

DEMO: tuple[Callable[[Prompt, str], Script], ...] = (
    output.think,
    output.plan,
    output.markdown,
    output.tool,
    output.diff,
    client_requests.terminal,
    output.image,
    status,
    client_requests.permission,
    client_requests.question,
)

SCRIPTS = {word: start for word, _, _, start in COMMANDS}


def available_commands() -> Json:
    listed = []
    for word, arguments, summary, _ in COMMANDS:
        command: Json = {"name": word, "description": summary}
        if arguments:
            command["input"] = {"hint": arguments}
        listed.append(command)
    return {"sessionUpdate": "available_commands_update", "availableCommands": listed}


def script_for(prompt: Prompt) -> Script:
    """The script this prompt asks for."""
    if "question" in prompt.text.lower():
        return client_requests.question(prompt, "")
    word, rest = (*prompt.text.split(None, 1), "", "")[:2]
    start = SCRIPTS.get(word.removeprefix("/").lower())
    script = start(prompt, rest) if start is not None else None
    return script if script is not None else output.reply_to_anything(prompt, "")
