"""The commands of the mock agent: which script a prompt starts.

The first word of the prompt is the command, with or without a slash; "question" counts anywhere in the
prompt. A prompt that is no command, or whose arguments do not fit, is echoed.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from sandbox_agent.agents.mock import config_options, updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.mock_sessions import iso_time
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts import (
    client_tools,
    faults,
    mcp_tools,
    newer_updates,
    process_faults,
    request_scripts,
    update_scripts,
)
from sandbox_agent.agents.mock.scripts.arguments import StartScript
from sandbox_agent.agents.mock.scripts.script_steps import Script, SendUpdate
from sandbox_agent.agents.mock.scripts.update_scripts import say


def help_text(_prompt: Prompt, _rest: str) -> Script:
    rows = [f"- `{f'{word} {arguments}'.strip()}`: {summary}" for word, arguments, summary, _ in COMMANDS]
    yield say("\n".join(["I am the mock agent. I understand:", "", *rows, "", "Anything else I repeat."]))
    return None


def commands(_prompt: Prompt, _rest: str) -> Script:
    yield SendUpdate(available_commands())
    yield say("I have announced my commands.")
    return None


def status(prompt: Prompt, _rest: str) -> Script:
    session = prompt.session
    yield SendUpdate(updates.plan(("Show the status items", "high", "in_progress")))
    yield SendUpdate(session.usage_update())
    yield SendUpdate(config_options.mode_update(session.values))
    yield SendUpdate(config_options.config_update(session.values))
    yield SendUpdate(available_commands())
    yield SendUpdate(updates.session_info(session.title, iso_time(time.time())))
    yield SendUpdate(updates.plan(("Show the status items", "high", "completed")))
    yield say("These were the status items.")
    return None


def demo(prompt: Prompt, rest: str) -> Script:
    for part in DEMO:
        yield from part(prompt, rest)
    yield SendUpdate(prompt.session.usage_update())
    return None


def plan(prompt: Prompt, rest: str) -> Script:
    chosen = request_scripts.plan_approval if rest.split()[:1] == ["approval"] else update_scripts.plan
    return chosen(prompt, rest)


# name, arguments, description, script
COMMANDS: tuple[tuple[str, str, str, StartScript], ...] = (
    ("help", "", "all commands", help_text),
    ("demo", "", "everything a client has to draw, in one turn", demo),
    ("echo", "<text>", "the text as one message", update_scripts.echo),
    ("markdown", "", "streamed Markdown", update_scripts.markdown),
    ("think", "", "thoughts, more of them at a higher thought level", update_scripts.think),
    ("plan", "[approval]", "a plan and its progress; or ask to leave plan mode", plan),
    ("tool", "", "a tool call and its result with file references", update_scripts.tool),
    ("diff", "", "tool calls that change one file and create another", update_scripts.diff),
    ("terminal", "", "a command and its output, in the way the client supports", client_tools.terminal),
    ("read", "<path>", "read a file through the client, if it offers that", client_tools.read),
    ("image", "", "a message with a picture", update_scripts.image),
    ("status", "", "every update that is a status item", status),
    ("legacy", "", "a message that carries the events of the legacy API in `_meta`", update_scripts.legacy),
    ("usage", "", "tokens and cost so far", update_scripts.usage),
    ("commands", "", "announce these commands", commands),
    ("title", "[text]", "give the session a title", update_scripts.title),
    ("info", "", "what I know about my process, session and client", update_scripts.info),
    (
        "permission",
        "[all] [read]",
        "ask for permission to write; all: with reject_always too; read: to read",
        request_scripts.permission,
    ),
    (
        "question",
        "",
        "ask a question (multi: several answers, free: no options)",
        request_scripts.question,
    ),
    (
        "elicit",
        "[url]",
        "ask with a form, else with a question; url: send to a page",
        request_scripts.elicit,
    ),
    ("mcp", "[tool] [json]", "call a tool of an MCP server of the session; or list them", mcp_tools.mcp),
    ("notice", "[text]", "notices of each severity", newer_updates.notice),
    ("compact", "[fail]", "compaction of the context, with its summary", newer_updates.compact),
    ("upsert", "", "ACP v2: a thought and a message that are replaced as a whole", newer_updates.upsert),
    ("stream", "<n> [interval_ms]", "n message chunks", update_scripts.stream),
    ("slow", "<ms>", "answer after a pause", update_scripts.slow),
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
    ("crash", "[code]", "leave at once without an answer", process_faults.crash),
    ("kill", "[signal]", "send myself a signal", process_faults.kill),
    ("exit", "", "answer, then leave with 0", process_faults.leave),
    ("hang", "[hard]", "never answer; hard: not even when cancelled", process_faults.hang),
    ("deaf", "", "answer, then never read stdin again", process_faults.deaf),
    ("stubborn", "", "answer, then ignore signals and the end of stdin", process_faults.stubborn),
    ("child", "[seconds]", "start a sleeping process in a session of its own", process_faults.child),
)

DEMO: tuple[Callable[[Prompt, str], Script], ...] = (
    update_scripts.think,
    update_scripts.plan,
    update_scripts.markdown,
    update_scripts.tool,
    update_scripts.diff,
    client_tools.terminal,
    update_scripts.image,
    status,
    request_scripts.permission,
    request_scripts.question,
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
    """The script of this prompt."""
    if "question" in prompt.text.lower():
        return request_scripts.question(prompt, "")
    word, rest = (*prompt.text.split(None, 1), "", "")[:2]
    start = SCRIPTS.get(word.removeprefix("/").lower())
    script = start(prompt, rest) if start is not None else None
    return script if script is not None else update_scripts.repeat(prompt, "")
