"""Prompts and turns: results, streams, attachments, cancellation, queueing, time limits."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_agent import (
    AgentExitedError,
    APITimeoutError,
    AsyncSandboxAgent,
    Attachment,
    CallbackError,
    ConcurrentPromptError,
    RpcError,
    image,
    resource,
    resource_link,
    text,
)
from sandbox_agent.sdk.session.turns import prompt_sender, turn_queue
from tests.sdk.conftest import Connect


@pytest.mark.clause("spec2-3-session-prompt")
async def test_a_prompt_returns_text_stop_reason_usage_and_items(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    result = await session.prompt("hello, you there")
    assert result.text == "hello, you there"
    assert result.stop_reason == "end_turn"
    assert result.usage is not None and result.usage.output_tokens
    assert [item.role for item in result.items if item.kind == "message"] == ["user", "assistant"]
    assert result.events[0].type == "turn.started" and result.events[-1].type == "turn.ended"
    assert result.events[0].data.turn_id == result.turn_id


@pytest.mark.parametrize("reason", ["refusal", "max_tokens", "max_turn_requests"])
async def test_every_stop_reason_is_passed_on(client: AsyncSandboxAgent, reason: str) -> None:
    session = await client.sessions.create("mock")
    assert (await session.prompt("refuse" if reason == "refusal" else reason)).stop_reason == reason


@pytest.mark.clause("spec2-3.2-message-and-attachments")
@pytest.mark.parametrize("block", [lambda path: resource_link(path), lambda path: resource(path, "text")])
def test_a_block_of_a_relative_path_is_refused(block: Callable[[str], object]) -> None:
    with pytest.raises(ValueError, match="attachments"):
        block("notes.txt")


@pytest.mark.clause("spec2-3.2-message-and-attachments")
async def test_prompts_take_blocks_attachments_and_acp_models(
    client: AsyncSandboxAgent, tmp_path: Path
) -> None:
    from acp.schema import TextContentBlock

    session = await client.sessions.create("amp")
    note = Path(session.directory) / "notes one.txt"
    note.write_text("remember")
    (tmp_path / "p.png").write_bytes(b"\x89PNG")
    result = await session.prompt(
        [
            TextContentBlock(type="text", text="model"),
            image(tmp_path / "p.png"),
            resource_link("https://example.org/x", name="x"),
            "blocks",
        ],
        attachments=[
            "notes one.txt",
            Attachment("/etc/hosts", mime="text/x-hosts", filename="my-hosts"),
            Attachment(str(note), embed=True),
        ],
    )
    # The plain agent repeats the texts and kinds of what it got.
    assert result.text == "model image resource_link blocks resource_link resource_link resource"
    sent = [e for e in await session.raw_events(limit=1000) if e.get("method") == "session/prompt"][-1]
    blocks = sent["params"]["prompt"]
    assert blocks[1] == {
        "type": "image",
        "data": base64.b64encode(b"\x89PNG").decode(),
        "mimeType": "image/png",
    }
    link, hosts, embedded = blocks[4:]
    assert link["uri"] == f"file://{session.directory}/notes%20one.txt" and link["mimeType"] == "text/plain"
    assert hosts["uri"] == "file:///etc/hosts" and hosts["mimeType"] == "text/x-hosts"
    assert hosts["_meta"]["sandboxagent.dev"] == {"filename": "my-hosts"}
    assert embedded["resource"]["text"] == "remember"


@pytest.mark.clause("spec2-3-session-prompt")
async def test_a_stream_gives_typed_events_text_deltas_and_raw_messages(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("stream 4 1") as turn:
        types = [event.type async for event in turn]
        deltas = [delta async for delta in turn.text_deltas]
        raw = [message async for message in turn.raw_events]
        result = await turn.result()
    assert types[:3] == ["turn.started", "item.started", "item.completed"]
    assert types.count("item.delta") == 4 and types[-1] == "turn.ended"
    assert "".join(deltas) == result.text == turn.text == "chunk 1\nchunk 2\nchunk 3\nchunk 4\n"
    assert raw[0]["method"] == "session/prompt" and raw[-1]["result"]["stopReason"] == "end_turn"


@pytest.mark.clause("sdk-turns")
async def test_leaving_a_stream_early_cancels_the_turn(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("stream 100000 5") as turn:
        async for _ in turn.text_deltas:
            break
    assert (await turn.result()).stop_reason == "cancelled"
    assert (await session.prompt("echo still here")).text == "still here"


async def test_an_error_in_the_block_is_not_hidden_by_the_cancel(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.raises(ZeroDivisionError):
        async with session.stream("hang"):
            raise ZeroDivisionError
    assert not session.busy


@pytest.mark.clause("sdk-turns")
async def test_cancelling_the_waiting_task_cancels_the_turn(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    started = asyncio.Event()
    session.on_event(lambda _: started.set(), type="turn.started")
    waiting = asyncio.create_task(session.prompt("hang"))
    await asyncio.wait_for(started.wait(), 10)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (await session.prompt("echo next")).text == "next"
    ends = [e for e in await session.events(limit=1000) if e.type == "turn.ended"]
    assert ends[0].data.metadata["stopReason"] == "cancelled"


async def test_a_turn_cancelled_before_it_was_sent_never_is(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("echo never") as turn:
        await turn.cancel()
    assert (await turn.result()).stop_reason == "cancelled"
    assert "session/prompt" not in [message.get("method") for message in await session.raw_events()]


@pytest.mark.clause("sdk-turns")
async def test_cancel_is_public_and_ends_the_turn_as_cancelled(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("hang") as turn:
        async for event in turn:
            if event.type == "turn.started":
                await session.cancel()
        assert (await turn.result()).stop_reason == "cancelled"


@pytest.mark.clause("sdk-turns")
async def test_prompts_queue_up_and_queue_false_refuses(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    first = asyncio.create_task(session.prompt("stream 3 20"))
    await asyncio.sleep(0)
    second = asyncio.create_task(session.prompt("echo second"))
    await asyncio.sleep(0)
    with pytest.raises(ConcurrentPromptError):
        await session.prompt("echo third", queue=False)
    assert (await first).text.startswith("chunk 1") and (await second).text == "second"


@pytest.mark.clause("sdk-turns")
async def test_a_time_limit_raises_and_cancels_the_turn(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.raises(APITimeoutError, match=r"0\.3 s"):
        await session.prompt("hang", timeout=0.3)
    assert (await session.prompt("echo free again")).text == "free again"


@pytest.mark.clause("sdk-turns")
async def test_an_agent_that_ignores_cancel_does_not_hang_its_reader(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    turn = session.stream("hang hard")
    await turn.__aenter__()
    await asyncio.wait_for(turn.messages.sent.wait(), 10)
    await turn.stop(timeout_s=0.3)
    with pytest.raises(APITimeoutError, match="did not stop"):
        await turn.result()


async def test_an_error_of_the_agent_ends_iteration_and_result_alike(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    async with session.stream("fail -32011") as turn:
        with pytest.raises(RpcError) as failure:
            [event async for event in turn]
        with pytest.raises(RpcError):
            await turn.result()
    assert failure.value.code == -32011 and failure.value.data == {"reason": "asked to fail"}
    assert (await session.prompt("echo fine")).text == "fine"


@pytest.mark.clause("decision-14-client")
async def test_an_answer_may_come_on_the_stream_only(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    assert (await session.prompt("stream 3 30", respond_async=True)).text == "chunk 1\nchunk 2\nchunk 3\n"


async def test_a_flood_arrives_whole_and_in_order(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    result = await session.prompt("flood 3000 20")
    assert [line.rstrip(".") for line in result.text.split()] == [str(n) for n in range(1, 3001)]


async def test_a_line_of_many_megabytes_passes(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    assert len((await session.prompt("big 3000000")).text) == 3_000_000


async def test_output_that_is_no_json_is_an_event_and_harms_nothing(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    result = await session.prompt("garbage")
    assert [event.type for event in result.events].count("agent.unparsed") == 3
    assert result.stop_reason == "end_turn"


async def test_requests_the_client_does_not_know_are_answered_at_once(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("amp")
    result = await session.prompt("strange")
    assert json.loads(result.text)["code"] == -32601


async def test_two_sessions_of_one_process_do_not_mix(client: AsyncSandboxAgent) -> None:
    first, second = await client.sessions.create("mock"), await client.sessions.create("mock")
    assert first.info.server_id == second.info.server_id
    results = await asyncio.gather(first.prompt("stream 20 1"), second.prompt("echo alone"))
    assert results[0].text.count("chunk") == 20 and results[1].text == "alone"
    assert {event.session_id for event in results[1].events} == {second.id}


@pytest.mark.clause("spec2-3-event-polling", "spec3-event-streaming")
async def test_follow_gives_stored_then_live_events_without_gap_or_double(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    await session.prompt("echo one")
    seen: list[int] = []

    async def read() -> None:
        async for event in session.follow(since=2):
            seen.append(event.sequence)
            if event.type == "turn.ended" and len(seen) > 10:
                return

    reader = asyncio.create_task(read())
    await session.prompt("echo two")
    await asyncio.wait_for(reader, 10)
    assert seen == list(range(3, seen[-1] + 1))


def test_text_blocks_are_plain_data() -> None:
    assert text("a") == {"type": "text", "text": "a"}


# -- starting a turn ------------------------------------------------------------------------------------


@pytest.mark.clause("sdk-turns-start")
async def test_a_stream_starts_when_it_is_first_used(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    types = [event.type async for event in session.stream("echo one")]
    assert types[0] == "turn.started" and types[-1] == "turn.ended"
    assert "".join([piece async for piece in session.stream("echo two").text_deltas]) == "two"
    assert (await session.stream("echo three").result()).text == "three"


@pytest.mark.clause("sdk-turns-start")
async def test_a_stream_that_is_never_used_warns(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.warns(RuntimeWarning, match=r"session\.start\(\)"):
        session.stream("echo lost")
        gc.collect()


@pytest.mark.clause("sdk-turns-start")
async def test_a_started_turn_runs_without_a_reader(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    turn = session.start("stream 5 1")
    assert not turn.done and session.start("echo next").id != turn.id
    assert (await asyncio.wait_for(turn.result(), 20)).text.count("chunk") == 5


@pytest.mark.clause("sdk-turns-start")
async def test_queue_false_admits_one_of_many_in_the_same_moment(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    outcomes = await asyncio.gather(
        *(session.prompt(f"echo {number}", queue=False) for number in range(5)), return_exceptions=True
    )
    refused = [one for one in outcomes if isinstance(one, ConcurrentPromptError)]
    assert len(refused) == 4
    turn = session.start("stream 3 10", queue=False)
    with pytest.raises(ConcurrentPromptError):
        session.start("echo refused", queue=False)
    stream = session.stream("echo later", queue=False)
    with pytest.raises(ConcurrentPromptError):
        await stream.result()
    await turn.result()
    assert (await session.prompt("echo free", queue=False)).text == "free"


@pytest.mark.clause("sdk-turns-start")
async def test_a_cancel_in_the_step_of_the_start_is_not_lost(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    turn = session.start("hang")
    await session.cancel()
    assert (await asyncio.wait_for(turn.result(), 20)).stop_reason == "cancelled"
    assert (await session.prompt("echo next")).text == "next"


# -- time limits and partial results --------------------------------------------------------------------


@pytest.mark.clause("sdk-one-timeout")
@pytest.mark.parametrize("limit_s", [0.2, 1.4, 2.4])
async def test_a_time_limit_is_kept_to_and_raises_one_error(
    client: AsyncSandboxAgent, limit_s: float
) -> None:
    session = await client.sessions.create("mock")
    began = time.monotonic()
    with pytest.raises(APITimeoutError) as failure:
        await session.prompt("hang", timeout=limit_s)
    assert time.monotonic() - began >= limit_s and failure.value.result.stop_reason == "error"


@pytest.mark.clause("sdk-one-timeout")
async def test_an_answer_that_came_while_the_loop_was_busy_counts(connect: Connect) -> None:
    session = await (await connect()).sessions.create("mock")
    for _ in range(5):
        turn = session.start("slow 100", timeout=0.4)
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
        await asyncio.sleep(0.01)
        time.sleep(0.6)  # noqa: ASYNC251 - the busy loop that the test is about
        assert (await turn.result()).stop_reason == "end_turn"


@pytest.mark.clause("sdk-partial-result")
async def test_every_error_of_a_turn_has_the_result_so_far(client: AsyncSandboxAgent) -> None:
    session = await client.sessions.create("mock")
    with pytest.raises(APITimeoutError) as timed_out:
        await session.prompt("stream 100000 2", timeout=0.5)
    assert timed_out.value.result.text.startswith("chunk 1\nchunk 2\n")
    assert timed_out.value.result.items and timed_out.value.result.events

    async def fails(_: object) -> str:
        raise ZeroDivisionError

    session.handlers.on_permission = fails
    with pytest.raises(CallbackError) as failed:
        await session.prompt("permission")
    assert failed.value.result.events[0].type == "turn.started"
    with pytest.raises(AgentExitedError) as exited:
        await session.prompt("crash 3")
    assert exited.value.result.turn_id
    assert pickle.loads(pickle.dumps(timed_out.value)).result.text  # noqa: S301 - our own object


@pytest.mark.clause("sdk-old-turns-stay-apart")
async def test_an_agent_that_ignores_the_cancel_does_not_mix_its_turns(
    client: AsyncSandboxAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (prompt_sender, turn_queue):
        monkeypatch.setattr(module, "LEFTOVER_TURN_S", 0.3)
    session = await client.sessions.create("amp")
    with pytest.raises(APITimeoutError) as failure:
        await session.prompt("busy", timeout=0.5)
    assert failure.value.result.text.startswith("still busy")
    result = await asyncio.wait_for(session.prompt("THE ANSWER"), 50)
    assert result.text == "THE ANSWER"
    assert [event.type for event in result.events].count("turn.ended") == 1


@pytest.mark.clause("sdk-errors")
async def test_waiting_tasks_have_error_objects_of_their_own(connect: Connect) -> None:
    client = await connect()
    *sessions, last = [await client.sessions.create("mock") for _ in range(4)]
    turns = [session.start("hang") for session in sessions]
    for turn in turns:
        await asyncio.wait_for(turn.messages.sent.wait(), 10)
    turns.append(last.start("crash 3"))
    outcomes = await asyncio.gather(*(turn.result() for turn in turns), return_exceptions=True)
    errors = [one for one in outcomes if isinstance(one, AgentExitedError)]
    assert len({id(error) for error in errors}) == len(outcomes)
