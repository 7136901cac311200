"""Recorded events of the vendors' programs through the converters: nothing is lost or repeated."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sandbox_agent.agents.adapters.amp import amp_converter
from sandbox_agent.agents.adapters.claude.claude_converter import ClaudeConverter
from sandbox_agent.agents.adapters.codex.codex_converter import CodexConverter
from sandbox_agent.agents.adapters.common.updates import Unparsed, Update
from sandbox_agent.agents.adapters.opencode.opencode_converter import OpenCodeConverter
from sandbox_agent.sdk.universal import UniversalMapper

_FOLDER = Path(__file__).parents[2] / "fixtures" / "adapters"
Json = dict[str, Any]
Converter = Callable[[Json], list[Update | Unparsed]]


def _codex() -> Converter:
    converter = CodexConverter()
    return lambda event: [] if "id" in event else converter.notification(event["method"], event["params"])


CONVERTERS: dict[str, Callable[[], Converter]] = {
    "codex": _codex,
    "claude": lambda: ClaudeConverter().line,
    "opencode": lambda: OpenCodeConverter().event,
    "amp": lambda: amp_converter.convert,
}


def transcript(name: str) -> list[Json]:
    return [json.loads(line) for line in (_FOLDER / f"{name}.jsonl").read_text().splitlines()]


def converted(name: str) -> list[Update | Unparsed]:
    convert = CONVERTERS[name]()
    return [item for event in transcript(name) for item in convert(event)]


def as_json(name: str) -> list[Json]:
    items = [item for item in converted(name) if not isinstance(item, Unparsed)]
    return [item.model_dump(mode="json", by_alias=True, exclude_none=True) for item in items]


@pytest.mark.clause("spec3-converters")
@pytest.mark.parametrize("name", CONVERTERS)
def test_every_event_of_a_real_run_is_understood(name: str) -> None:
    assert [item for item in converted(name) if isinstance(item, Unparsed)] == []


@pytest.mark.parametrize("name", CONVERTERS)
def test_text_and_thoughts_are_sent_once(name: str) -> None:
    updates = as_json(name)

    def text(kind: str) -> str:
        return "".join(u["content"]["text"] for u in updates if u["sessionUpdate"] == kind)

    assert text("agent_message_chunk").count("Hello from the model") == 1
    # Codex has no tool to write files with a model it does not know.
    said = "Hello from the model" + "done" + ("" if name == "codex" else "written")
    assert text("agent_message_chunk").startswith(said)
    assert text("agent_thought_chunk") == "pondering"
    assert text("user_message_chunk") == "", "the client knows what it has sent"


@pytest.mark.parametrize("name", CONVERTERS)
def test_a_tool_call_begins_once_and_ends_with_its_output(name: str) -> None:
    updates = as_json(name)
    started = [u["toolCallId"] for u in updates if u["sessionUpdate"] == "tool_call"]
    assert started and len(set(started)) == len(started)
    shell = [u for u in updates if u.get("toolCallId") == started[0]]
    assert shell[0]["kind"] == "execute"
    assert shell[-1]["status"] == "completed" and "hello-from-the-tool" in json.dumps(shell[-1]["content"])
    assert "printf" in json.dumps([u.get("rawInput") for u in shell])


@pytest.mark.parametrize("name", ["claude", "opencode"])
def test_a_written_file_is_a_diff(name: str) -> None:
    contents = [content for u in as_json(name) for content in u.get("content") or [] if "toolCallId" in u]
    diffs = [content for content in contents if content["type"] == "diff"]
    assert diffs and diffs[0]["path"] == "/srv/user/project/new.txt" and diffs[0]["newText"] == "fresh"


def test_opencodes_todos_are_a_plan() -> None:
    plans = [u for u in as_json("opencode") if u["sessionUpdate"] == "plan"]
    assert plans[0]["entries"] == [{"content": "first step", "priority": "medium", "status": "pending"}]


@pytest.mark.clause("spec3-converters")
@pytest.mark.parametrize("name", CONVERTERS)
def test_a_malformed_event_is_returned_unchanged(name: str) -> None:
    broken = {
        "codex": {"method": "item/agentMessage/delta", "params": {"threadId": "t", "delta": 7}},
        "claude": {"type": "assistant", "message": {"content": 7}},
        "opencode": {"type": "message.part.updated", "properties": {"part": {"type": "tool"}}},
        "amp": {"type": "assistant", "message": 7},
    }[name]
    (item,) = CONVERTERS[name]()(broken)
    assert isinstance(item, Unparsed)
    assert item.raw in (broken, broken.get("params")) and item.error


@pytest.mark.clause("spec3-converters")
@pytest.mark.parametrize("name", CONVERTERS)
def test_universal_events_follow_from_the_updates(name: str) -> None:
    mapper = UniversalMapper("s", agent=name)
    steps: list[tuple[Any, Json]] = [
        ("client", {"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/"}}),
        ("agent", {"jsonrpc": "2.0", "id": 1, "result": {"sessionId": "s"}}),
        ("client", {"jsonrpc": "2.0", "id": 2, "method": "session/prompt", "params": _prompt()}),
        *(("agent", _notification(update)) for update in as_json(name)),
        ("agent", {"jsonrpc": "2.0", "id": 2, "result": {"stopReason": "end_turn"}}),
    ]
    events = [event for direction, message in steps for event in mapper.feed(message, direction)]
    types = [event.type for event in events]
    assert "agent.unparsed" not in types
    assert {
        "session.started",
        "turn.started",
        "item.started",
        "item.delta",
        "item.completed",
        "turn.ended",
    } <= {*types}


def _prompt() -> Json:
    return {"sessionId": "s", "prompt": [{"type": "text", "text": "go"}]}


def _notification(update: Json) -> Json:
    return {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}


@pytest.mark.clause("spec3-converters", "events-shell-output")
@pytest.mark.parametrize(
    ("content", "text", "status"),
    [
        ('{"output":"hello\\n","exitCode":0}', "hello\n", "completed"),
        ('{"output":"hello\\n","exitCode":3}', "hello\n", "failed"),
        ('{"absolutePath":"/w/a","content":"1: a"}', "1: a", "completed"),
        ('{"version": 7}', '{"version": 7}', "completed"),
        ("{not json", "{not json", "completed"),
    ],
)
def test_results_that_amp_writes_as_json_are_their_text(content: str, text: str, status: str) -> None:
    block = {"type": "tool_result", "tool_use_id": "t1", "content": content, "is_error": False}
    (update,) = amp_converter.convert({"type": "user", "message": {"role": "user", "content": [block]}})
    assert not isinstance(update, Unparsed)
    fields = update.model_dump(mode="json", by_alias=True)
    assert (fields["content"][0]["content"]["text"], fields["status"]) == (text, status)
