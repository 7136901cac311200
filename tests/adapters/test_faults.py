"""Crash, hang, garbage and death in mid-turn of a vendor's program: typed errors, never silence.

An adapter starts its program anew after an end, so one adapter goes through all faults.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from tests.adapters.adapter_process import AdapterProcess, Json

pytestmark = pytest.mark.timeout(180)
_PROGRAM = Path(__file__).with_name("pretend_program.py")
KINDS = ("claude", "codex", "opencode", "amp")


class Pretender(AdapterProcess):
    """The adapter of `kind` around a program whose fault can be changed."""

    def __init__(self, tmp_path: Path, kind: str, silence_s: str = "60") -> None:
        self.kind, self._fault = kind, tmp_path / "fault"
        self._program = program = tmp_path / "program"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {_PROGRAM} "$@"\n')
        program.chmod(0o755)
        env = {
            "PRETEND_KIND": kind,
            "PRETEND_FAULT": str(self._fault),
            "HOME": str(tmp_path),
            "SANDBOX_AGENT_ADAPTER_SILENCE_S": silence_s,
        }
        super().__init__(kind, program, tmp_path, env)

    def becomes(self, fault: str) -> None:
        self._fault.write_text(fault)

    def vanishes(self) -> None:
        self._program.unlink()

    async def first_error(self) -> Json:
        """Of the first request that needs the program."""
        answer = await self.call("session/new", cwd=str(self._cwd), mcpServers=[])
        if "result" in answer:
            answer = await self.prompt(answer["result"]["sessionId"], "hello")
        error: Json = answer["error"]
        return error


@pytest.mark.parametrize("kind", KINDS)
async def test_every_fault_of_a_program_is_a_typed_error(kind: str, tmp_path: Path) -> None:
    async with Pretender(tmp_path, kind) as adapter:
        await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
        await _crash(adapter)
        await _garbage(adapter)
        if kind != "opencode":  # whose turn is not in its output
            await _death_in_mid_turn(adapter)
        await _missing(adapter)


async def _crash(adapter: Pretender) -> None:
    adapter.becomes("crash")
    error = await adapter.first_error()
    assert error["code"] == -32603
    assert error["data"]["reason"] == "native_exited"
    assert error["data"]["exitCode"] == 7 and "on fire" in error["data"]["stderr"]


async def _garbage(adapter: Pretender) -> None:
    adapter.becomes("garbage")
    error = await adapter.first_error()
    assert error["code"] == -32603, error
    if adapter.kind == "amp":  # whose help may be anything: it then lacks the flags
        assert "--stream-json" in error["message"]
    else:
        assert error["data"]["reason"] == "native_exited"
        heard = adapter.params("_sandboxagent/agent/unparsed")
        assert any("no JSON" in str(item["_meta"]) for item in heard), adapter.messages


async def _death_in_mid_turn(adapter: Pretender) -> None:
    adapter.becomes("midway")
    since = len(adapter.messages)
    answer = await adapter.call("session/new", cwd=str(adapter._cwd), mcpServers=[])
    session = answer["result"]["sessionId"]
    answer = await adapter.prompt(session, "hello")
    assert answer["error"]["data"]["reason"] == "native_exited", answer
    assert answer["error"]["data"]["exitCode"] == -9
    later = adapter.messages[since:]
    assert later[-1] == answer, "something came after the answer"
    updates = [message["params"]["update"] for message in later if message.get("method") == "session/update"]
    assert [update["content"]["text"] for update in updates] == ["so far "]
    _event_of_the_future_came_whole(session, later)


def _event_of_the_future_came_whole(session: str, messages: list[Json]) -> None:
    method = "_sandboxagent/agent/unparsed"
    (unparsed,) = [message["params"] for message in messages if message.get("method") == method]
    assert unparsed["sessionId"] == session and len(unparsed["raw_hash"]) == 64
    assert unparsed["_meta"]["sandboxagent.dev"]["raw"]["news"] == 1


async def _missing(adapter: Pretender) -> None:
    adapter.vanishes()
    error = await adapter.first_error()
    assert error["data"]["reason"] == "native_missing", error


async def test_a_turn_of_a_program_that_hangs_ends_by_cancel_or_by_the_silence_limit(tmp_path: Path) -> None:
    async with Pretender(tmp_path, "claude", silence_s="3") as adapter:
        adapter.becomes("hang")
        session = await adapter.begin()
        prompt = asyncio.create_task(adapter.prompt(session, "hello"))
        # The adapter reads in order: once this is answered, the prompt has begun.
        await adapter.call("session/list")
        adapter.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}
        answer = await adapter.prompt(session, "hello again")
        assert answer["error"]["data"]["reason"] == "native_silent", answer
