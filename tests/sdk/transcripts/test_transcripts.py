"""Transcripts of a conversation: what was said and done, once and in order, in every format."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sandbox_agent.sdk.transcripts.conversation_steps import ToolStep, read_steps
from sandbox_agent.sdk.transcripts.transcript import Transcript, write_transcript
from sandbox_agent.sdk.universal import UniversalMapper


def update(**fields: Any) -> dict[str, Any]:
    return {"method": "session/update", "params": {"sessionId": "n", "update": fields}}


def chunk(text: str, kind: str = "agent_message_chunk") -> dict[str, Any]:
    return update(sessionUpdate=kind, content={"type": "text", "text": text})


def call(name: str, **more: Any) -> dict[str, Any]:
    return update(
        sessionUpdate="tool_call",
        toolCallId=name,
        title=f"Run {name}",
        kind="execute",
        status="in_progress",
        rawInput={"command": name},
        **more,
    )


def done(name: str, output: str, status: str = "completed") -> dict[str, Any]:
    content = [{"type": "content", "content": {"type": "text", "text": output}}]
    return update(sessionUpdate="tool_call_update", toolCallId=name, status=status, content=content)


def transcript(*messages: dict[str, Any], prompt: str = "please", finish: bool = True) -> Transcript:
    sent = {"id": 1, "method": "session/prompt", "params": {"prompt": [{"type": "text", "text": prompt}]}}
    mapper = UniversalMapper("s1")
    events = mapper.feed(sent, "client", time=0)
    for message in messages:
        events += mapper.feed(message, "agent", time=1000)
    if finish:
        events += mapper.feed({"id": 1, "result": {"stopReason": "end_turn"}}, "agent", time=2000)
    return Transcript(session_id="s1", agent="mock", steps=read_steps(events), title="A *talk*")


def chat(given: Transcript) -> list[dict[str, Any]]:
    (line,) = write_transcript(given, "chat").splitlines()
    messages: list[dict[str, Any]] = json.loads(line)["messages"]
    return messages


@pytest.mark.clause("sdk-transcripts")
def test_calls_that_run_together_are_in_one_message_and_later_ones_in_another() -> None:
    given = transcript(
        chunk("first, "),
        chunk("both"),
        call("a"),
        call("b"),
        done("b", "B"),
        done("a", "A"),
        call("c"),
        done("c", "C", "failed"),
        chunk("so it is"),
    )
    user, both, answer_a, answer_b, third, answer_c, last = chat(given)
    assert user == {"role": "user", "content": "please"}
    assert both["content"] == "first, both"
    assert [one["id"] for one in both["tool_calls"]] == ["a", "b"]
    assert json.loads(both["tool_calls"][0]["function"]["arguments"]) == {"command": "a"}
    assert (answer_a, answer_b["content"]) == ({"role": "tool", "tool_call_id": "a", "content": "A"}, "B")
    assert third["content"] is None and [one["id"] for one in third["tool_calls"]] == ["c"]
    assert answer_c["content"] == "C" and last == {"role": "assistant", "content": "so it is"}


@pytest.mark.clause("sdk-transcripts")
def test_thoughts_belong_to_the_message_that_follows() -> None:
    given = transcript(chunk("hm", "agent_thought_chunk"), call("a"), done("a", "A"), chunk("yes"))
    _, thinking, _, answer = chat(given)
    assert thinking["reasoning_content"] == "hm" and "reasoning_content" not in answer
    (first, *_) = [
        step for step in json.loads(write_transcript(given, "atif"))["steps"] if "message" in step
    ][1:]
    assert first["reasoning_content"] == "hm" and first["observation"]["results"][0]["content"] == "A"
    assert "> hm" in write_transcript(given, "markdown")


@pytest.mark.clause("sdk-transcripts")
def test_calls_of_sub_agents_are_no_training_data_but_are_shown() -> None:
    parent = {"claudeCode": {"parentToolUseId": "task"}}
    given = transcript(call("task"), call("inner", _meta=parent), done("inner", "I"), done("task", "T"))
    assert [step.call.call_id for step in given.steps if isinstance(step, ToolStep)] == ["task", "inner"]
    assert [one["id"] for message in chat(given) for one in message.get("tool_calls", [])] == ["task"]
    assert "sub-agent" in write_transcript(given, "markdown")


@pytest.mark.clause("sdk-transcripts")
def test_what_runs_is_left_out() -> None:
    given = transcript(chunk("said"), call("a"), finish=False)
    assert [message["role"] for message in chat(given)] == ["user", "assistant"]


@pytest.mark.clause("sdk-transcripts")
def test_markdown_holds_fences_headings_and_broken_text() -> None:
    given = transcript(call("a"), done("a", "```\ninner\n```"), chunk("x\ud800y"), prompt="look")
    text = write_transcript(given, "markdown")
    assert "````text\n```\ninner\n```\n````" in text and text.encode()
    assert text.startswith("# A *talk*\n") and text.index("## User") < text.index("## Agent")
    assert json.loads(write_transcript(given, "chat"))["messages"][-1]["content"] == "x\ud800y"


@pytest.mark.clause("sdk-transcripts")
def test_an_unknown_format_is_named_with_those_that_exist() -> None:
    with pytest.raises(ValueError, match="markdown, chat, atif"):
        write_transcript(transcript(), "html")  # type: ignore[arg-type]
