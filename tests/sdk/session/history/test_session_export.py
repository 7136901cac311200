"""Exporting sessions: open, closed, and from the store alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_agent import AsyncSandboxAgent, SessionNotFoundError, SqliteStore, asgi, export_session


@pytest.mark.clause("sdk-transcripts")
async def test_a_session_is_exported_open_closed_and_from_its_store(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    path = tmp_path / "s.db"
    async with AsyncSandboxAgent.start(asgi(), default_directory=tmp_path, store=path) as writer:
        session = await writer.sessions.create("mock", id="talk", title="A talk", model="mock-fast")
        for prompt in ("echo first", "tool", "diff"):
            await session.prompt(prompt)
        opened = {name: await session.export(name) for name in ("markdown", "chat", "atif")}
        await session.aclose()
        assert await writer.sessions.export("talk", "chat") == opened["chat"]
        with pytest.raises(SessionNotFoundError):
            await writer.sessions.export("never")
        with pytest.raises(ValueError, match="markdown"):
            await session.export("pdf")  # type: ignore[arg-type]
    async with SqliteStore(path) as store:
        assert await export_session(store, "talk") == opened["markdown"]
        assert await export_session(store, "talk", "chat") == opened["chat"]

    shown = opened["markdown"]
    assert shown.startswith("# A talk\n") and "- agent: mock" in shown and "- model: mock-fast" in shown
    assert "- tokens: " in shown and "```diff\n" in shown
    messages = json.loads(opened["chat"])["messages"]
    calls = [one["id"] for message in messages for one in message.get("tool_calls", [])]
    answers = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    assert calls == answers and len(calls) == 3
    assert [m["content"] for m in messages if m["role"] == "user"] == ["echo first", "tool", "diff"]
    trajectory = json.loads(opened["atif"])
    assert trajectory["agent"]["model_name"] == "mock-fast" and trajectory["agent"]["version"] != "unknown"
    assert [step["step_id"] for step in trajectory["steps"]] == list(range(1, len(trajectory["steps"]) + 1))
    assert trajectory["final_metrics"]["total_prompt_tokens"] > 0
