"""Scripts that send every kind of `session/update` a client has to display.

Paths are below the session's directory, but nothing is read or written there.
"""

from __future__ import annotations

import json
import os
import sys
import time

from sandbox_agent.agents.mock import config_options, updates
from sandbox_agent.agents.mock.jsonrpc_lines import Json
from sandbox_agent.agents.mock.mock_sessions import iso_time
from sandbox_agent.agents.mock.prompt import Prompt
from sandbox_agent.agents.mock.scripts.arguments import numbers
from sandbox_agent.agents.mock.scripts.script_steps import Pause, Script, SendNotification, SendUpdate

CHUNKS = 4
# Slow enough to be seen streaming; the model mock-fast does not wait.
STREAM_PAUSE_S = 0.02

MARKDOWN = """# Mock agent

Some **bold**, some *italic*, some `code` and a [link](https://example.com).

1. first
2. second
   - nested

> A quotation.

| name | value |
|------|-------|
| one  | 1     |
| two  | 2     |

```python
def greet(name: str) -> str:
    return f"Hello, {name}!"
```
"""

# A gradient of 16 x 16 pixels.
PICTURE = (
    "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQBAMAAADt3eJSAAAAMFBMVEUoWvo1Wu1CWuBPWtNcWsZpWrl2WqyDWp+QWpKdWoWq"
    "Wni3WmvEWl7RWlHeWkTrWjdLgWkyAAAARklEQVR42jXIMQGAIAAAwTcCRsAIGAEjYASMABEwAqZ1eW482EI8Ur4g7DGduawo"
    "K26MilExHoyG0TA6xsAYGC/GxJgY3w+UeCZsZsdP8wAAAABJRU5ErkJggg=="
)


def say(text: str) -> SendUpdate:
    return SendUpdate(updates.message(text))


LEGACY_SEQUENCE = 1000


def legacy(prompt: Prompt, _rest: str) -> Script:
    """A message as an agent with events of the legacy API sends it: envelope and item facts in `_meta`."""
    session_id, item_id = prompt.session.id, "legacy-" + updates.new_uuid()
    facts: Json = {"item_id": item_id, "kind": "message", "role": "assistant"}
    for number, word in enumerate(("carried ", "over"), LEGACY_SEQUENCE):
        update = updates.message(word)
        del update["messageId"]
        envelope = updates.legacy_event(session_id, number)
        yield SendUpdate({**update, "_meta": updates.product_meta(**envelope, **facts)})
    content = [{"type": "text", "text": "carried over"}]
    snapshot = {**facts, "content": content, "status": "completed"}
    envelope = updates.legacy_event(session_id, LEGACY_SEQUENCE + 2)
    meta = updates.product_meta(**envelope, item=snapshot)
    yield SendNotification("_sandboxagent/item/completed", {"sessionId": session_id, "_meta": meta})
    return None


def repeat(prompt: Prompt, _rest: str) -> Script:
    text = prompt.text or "(an empty prompt)"
    for update in updates.message_in_chunks(text, -(-len(text) // CHUNKS)):
        yield SendUpdate(update)
    yield SendUpdate(prompt.session.usage_update())
    return None


def echo(_prompt: Prompt, rest: str) -> Script:
    yield say(rest)
    return None


def markdown(prompt: Prompt, _rest: str) -> Script:
    for update in updates.message_in_chunks(MARKDOWN, 24):
        yield SendUpdate(update)
        if prompt.session.values["model"] != "mock-fast":
            yield Pause(STREAM_PAUSE_S)
    return None


def think(prompt: Prompt, _rest: str) -> Script:
    thoughts = ["The user wants me to think. ", "I look at it from another side. ", "Now I am sure."]
    level = list(config_options.OPTIONS["thought_level"][1]).index(prompt.session.values["thought_level"])
    for text in thoughts[: level + 1]:
        yield SendUpdate(updates.thought(text))
    yield say("I have thought about it.")
    return None


def plan(_prompt: Prompt, _rest: str) -> Script:
    for done in range(4):
        states = ["completed" if i < done else "in_progress" if i == done else "pending" for i in range(3)]
        yield SendUpdate(
            updates.plan(
                ("Read the code", "high", states[0]),
                ("Change the code", "medium", states[1]),
                ("Run the tests", "low", states[2]),
            )
        )
    yield say("The plan is done.")
    return None


def tool(prompt: Prompt, _rest: str) -> Script:
    path = os.path.join(prompt.session.cwd, "README.md")
    call_id = updates.new_tool_call_id()
    yield SendUpdate(
        updates.tool_call(
            call_id,
            "read_file",
            "Read README.md",
            "read",
            rawInput={"path": path},
            locations=[{"path": path, "line": 1}],
        )
    )
    yield SendUpdate(updates.tool_update(call_id, "in_progress"))
    link = {"type": "resource_link", "name": "README.md", "uri": "file://" + path}
    yield SendUpdate(
        updates.tool_update(
            call_id,
            "completed",
            content=[updates.tool_text("# A project\n"), {"type": "content", "content": link}],
            rawOutput={"text": "# A project\n", "lines": 1},
        )
    )
    yield say("I have read README.md.")
    return None


def diff(prompt: Prompt, _rest: str) -> Script:
    changed = os.path.join(prompt.session.cwd, "greeting.py")
    created = os.path.join(prompt.session.cwd, "goodbye.py")
    for path, old, new in (
        (changed, 'print("helo")\n', 'print("hello")\n'),
        (created, None, 'print("goodbye")\n'),
    ):
        call_id = updates.new_tool_call_id()
        name = os.path.basename(path)
        content = [updates.diff(path, old, new)]
        yield SendUpdate(
            updates.tool_call(
                call_id,
                "edit_file",
                f"Edit {name}",
                "edit",
                locations=[{"path": path}],
                content=content,
                rawInput={"path": path, "old": old, "new": new},
            )
        )
        yield SendUpdate(
            updates.tool_update(call_id, "completed", content=content, rawOutput=f"wrote {name}")
        )
    yield say("I have changed greeting.py and created goodbye.py (in this script only, not on disk).")
    return None


def image(_prompt: Prompt, _rest: str) -> Script:
    message_id = updates.new_uuid()
    yield SendUpdate(updates.message_chunk(updates.text_block("A picture:\n"), message_id))
    yield SendUpdate(
        updates.message_chunk({"type": "image", "mimeType": "image/png", "data": PICTURE}, message_id)
    )
    return None


def usage(prompt: Prompt, _rest: str) -> Script:
    yield SendUpdate(prompt.session.usage_update())
    yield say(f"{prompt.session.used_tokens} tokens used in this session.")
    return None


def title(prompt: Prompt, rest: str) -> Script:
    prompt.session.title = rest or "A session with the mock agent"
    prompt.session.save_facts_later()
    yield SendUpdate(updates.session_info(prompt.session.title, iso_time(time.time())))
    yield say(f"This session is now called {prompt.session.title!r}.")
    return None


def stream(_prompt: Prompt, rest: str) -> Script | None:
    given = numbers(rest, 2)
    if not given:
        return None
    count, interval_ms = given[0], given[1] if len(given) == 2 else 0

    def run() -> Script:
        message_id = updates.new_uuid()
        for number in range(1, count + 1):
            yield SendUpdate(updates.message_chunk(updates.text_block(f"chunk {number}\n"), message_id))
            if interval_ms:
                yield Pause(interval_ms / 1000)
        return None

    return run()


def slow(_prompt: Prompt, rest: str) -> Script | None:
    if not rest.isdecimal():
        return None
    wait_ms = int(rest)

    def run() -> Script:
        yield Pause(wait_ms / 1000)
        yield say(f"I waited {wait_ms} ms.")
        return None

    return run()


def _skills(directory: str) -> list[str]:
    """The folders with a SKILL.md below `.agents/skills` of the session's directory."""
    folder = os.path.join(directory, ".agents", "skills")
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return sorted(name for name in names if os.path.isfile(os.path.join(folder, name, "SKILL.md")))


def info(prompt: Prompt, _rest: str) -> Script:
    facts = {
        "pid": os.getpid(),
        "processDirectory": os.getcwd(),
        "arguments": sys.argv[1:],
        "sessionDirectory": prompt.session.cwd,
        "values": prompt.session.values,
        "mcpServers": prompt.session.mcp_servers,
        "tools": prompt.session.tools,
        "skills": _skills(prompt.session.cwd),
        "clientCapabilities": prompt.client,
    }
    yield say(json.dumps(facts, indent=2))
    return None
