"""A vendor's program that crashes, hangs or writes garbage: every fault is a typed error.

An adapter starts its program again after an exit, so one adapter goes through all faults.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

import pytest

from sandbox_agent.sdk.universal import UniversalMapper
from tests.agents.adapters.adapter_process import AdapterProcess, Json
from tests.real_agents import home_processes
from tests.support.polling import eventually

pytestmark = pytest.mark.timeout(180)
_PROGRAM = Path(__file__).with_name("faulty_program.py")
KINDS = ("claude", "codex", "opencode", "amp")


class FaultyAdapter(AdapterProcess):
    """The adapter of `kind` with faulty_program.py, whose fault can be changed."""

    def __init__(self, tmp_path: Path, kind: str, silence_s: str = "60") -> None:
        self.kind, self.home = kind, tmp_path / kind
        self.home.mkdir()
        self._fault = self.home / "fault"
        self._program = program = self.home / "program"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {_PROGRAM} "$@"\n')
        program.chmod(0o755)
        env = {
            "FAULTY_KIND": kind,
            "FAULTY_BEHAVIOUR": str(self._fault),
            "HOME": str(self.home),
            "SANDBOX_AGENT_ADAPTER_SILENCE_S": silence_s,
        }
        super().__init__(kind, program, self.home, env)

    def set_fault(self, fault: str) -> None:
        self._fault.write_text(fault)

    def remove_program(self) -> None:
        self._program.unlink()

    async def wait_for_processes(self, count: int) -> None:
        """Wait for this number of processes: the adapter is one, its program another."""
        await eventually(lambda: len(home_processes.with_home(self.home)) == count, 60)

    async def first_error(self) -> Json:
        """The error of the first request that needs the program."""
        answer = await self.call("session/new", cwd=str(self._cwd), mcpServers=[])
        if "result" in answer:
            answer = await self.prompt(answer["result"]["sessionId"], "hello")
        error: Json = answer["error"]
        return error


@pytest.mark.clause("spec3-codex-shared-server", "adapters-faults-are-typed")
@pytest.mark.parametrize("kind", KINDS)
async def test_every_fault_of_a_program_is_a_typed_error(kind: str, tmp_path: Path) -> None:
    async with FaultyAdapter(tmp_path, kind) as adapter:
        await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
        await _crash(adapter)
        await _garbage(adapter)
        await _death_in_mid_turn(adapter)
        await _babble_in_a_turn(adapter)
        await _missing(adapter)
        types = universal_types(adapter)
    assert {"agent.unparsed", "error", "item.delta", "turn.ended"} <= types


async def _crash(adapter: FaultyAdapter) -> None:
    adapter.set_fault("crash")
    error = await adapter.first_error()
    assert error["code"] == -32603
    assert error["data"]["reason"] == "native_exited"
    assert error["data"]["exitCode"] == 7 and "on fire" in error["data"]["stderr"]


async def _garbage(adapter: FaultyAdapter) -> None:
    adapter.set_fault("garbage")
    error = await adapter.first_error()
    assert error["code"] == -32603, error
    if adapter.kind == "amp":  # Garbage instead of its help: the flags are missing.
        assert "--stream-json" in error["message"]
    else:
        assert error["data"]["reason"] == "native_exited"
        heard = adapter.params("_sandboxagent/agent/unparsed")
        assert any("no JSON" in str(item["_meta"]) for item in heard), adapter.messages


async def _death_in_mid_turn(adapter: FaultyAdapter) -> None:
    adapter.set_fault("midway")
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
    _unknown_event_arrived_unchanged(session, later)


def _unknown_event_arrived_unchanged(session: str, messages: list[Json]) -> None:
    method = "_sandboxagent/agent/unparsed"
    (unparsed,) = [message["params"] for message in messages if message.get("method") == method]
    assert unparsed["sessionId"] == session and len(unparsed["raw_hash"]) == 64
    assert unparsed["_meta"]["sandboxagent.dev"]["raw"]["news"] == 1


async def _babble_in_a_turn(adapter: FaultyAdapter) -> None:
    adapter.set_fault("babble")
    if adapter.kind in ("codex", "opencode"):
        # Their server is shared: wait for the end of the last one, so that the next request starts a new one.
        await adapter.wait_for_processes(1)
    heard = len(adapter.params("_sandboxagent/agent/unparsed"))
    error = await adapter.first_error()
    assert error["data"]["reason"] == "native_exited" and error["data"]["exitCode"] == 0, error
    later = adapter.params("_sandboxagent/agent/unparsed")[heard:]
    assert ["no JSON" in str(item["_meta"]) or "[1, 2]" in str(item["_meta"]) for item in later] == [True] * 2


def universal_types(adapter: AdapterProcess) -> set[str]:
    """The types of universal events that the SDK derives from all messages."""
    mapper = UniversalMapper("s", agent="faulty")
    return {event.type for sender, message in adapter.log for event in mapper.feed(message, sender)}


async def _missing(adapter: FaultyAdapter) -> None:
    adapter.remove_program()
    error = await adapter.first_error()
    assert error["data"]["reason"] == "native_missing", error


@pytest.mark.clause("adapters-faults-are-typed")
async def test_a_program_that_hangs_is_a_typed_error_after_the_silence_limit(tmp_path: Path) -> None:
    async def check(kind: str) -> None:
        async with FaultyAdapter(tmp_path, kind, silence_s="2") as adapter:
            await adapter.call("initialize", protocolVersion=1, clientCapabilities={})
            for fault in ("hang", "mute"):  # from the start, and in a turn
                adapter.set_fault(fault)
                error = await adapter.first_error()
                assert error["data"]["reason"] == "native_silent", (kind, fault, error)
        assert not home_processes.with_home(adapter.home), "a program outlived its adapter"

    await asyncio.gather(*(check(kind) for kind in KINDS))


@pytest.mark.clause("adapters-faults-are-typed")
async def test_a_turn_of_a_program_that_hangs_ends_by_cancel(tmp_path: Path) -> None:
    async with FaultyAdapter(tmp_path, "claude", silence_s="3") as adapter:
        adapter.set_fault("mute")
        session = await adapter.begin()
        prompt = asyncio.create_task(adapter.prompt(session, "hello"))
        # The adapter reads in order: once this is answered, the prompt has begun.
        await adapter.call("session/list")
        adapter.notify("session/cancel", sessionId=session)
        assert (await prompt)["result"] == {"stopReason": "cancelled"}


@pytest.mark.clause("adapters-nothing-survives-a-stop")
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
async def test_no_program_outlives_an_adapter_that_is_ended_in_a_turn(
    ending: signal.Signals, tmp_path: Path
) -> None:
    async def check(kind: str) -> None:
        async with FaultyAdapter(tmp_path, kind) as adapter:
            adapter.set_fault("mute")
            session = await adapter.begin()
            prompt = asyncio.create_task(adapter.prompt(session, "hello"))
            await adapter.wait_for_processes(2)
            adapter.process.send_signal(ending)
            await adapter.wait_for_processes(0)
            prompt.cancel()

    await asyncio.gather(*(check(kind) for kind in KINDS))
