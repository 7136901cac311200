"""`client.processes` and `client.terminals`, with a real server."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import AsyncIterator
from random import Random

import pytest

from sandbox_agent import AsyncSandboxAgent, CommandFailedError, NotFoundError, SandboxAgent
from tests.sdk.conftest import Connect
from tests.sdk.cutting_proxy import Cut, CuttingProxy
from tests.sdk.live_server import LiveServer

pytestmark = [pytest.mark.process, pytest.mark.timeout(150)]


@pytest.fixture
async def remote(connect: Connect) -> AsyncSandboxAgent:
    return await connect()


@pytest.mark.clause("processes-sdk")
async def test_run_returns_output_and_exit_code(remote: AsyncSandboxAgent) -> None:
    done = await remote.processes.run("echo out; echo err >&2; exit 3", timeout=30)
    assert (done.stdout, done.stderr, done.exit_code, done.ok) == ("out\n", "err\n", 3, False)
    argv = await remote.processes.run(["printenv", "NAME"], env={"NAME": "a b"}, cwd="/")
    assert argv.check().stdout == "a b\n"
    with pytest.raises(CommandFailedError, match="exit code 3: err") as failed:
        done.check()
    assert pickle.loads(pickle.dumps(failed.value)).result == done  # noqa: S301
    with pytest.raises(CommandFailedError, match="was stopped after"):
        await remote.processes.run("sleep 60", timeout=0.2, check=True)
    with pytest.raises(ValueError, match="name of a program"):
        await remote.processes.run([])


@pytest.mark.clause("processes-sdk")
async def test_a_process_is_fed_read_line_by_line_and_waited_for(remote: AsyncSandboxAgent) -> None:
    process = await remote.processes.start(["sh", "-c", "while read line; do echo got $line; done; exit 4"])
    await process.stdin.write("one\ntwo\n")
    await process.stdin.write(b"three\n")
    await process.stdin.close()
    assert [line async for line in process] == ["got one", "got two", "got three"]
    info = await process.wait(10)
    assert (info.status, info.exit_code) == ("exited", 4)
    assert [line async for line in process] == ["got one", "got two", "got three"]
    assert [one.id for one in await remote.processes.list()] == [process.id]
    await process.delete()
    await process.delete()
    assert await remote.processes.list() == []
    with pytest.raises(NotFoundError):
        await remote.processes.get(process.id)


async def test_a_process_is_stopped_and_killed_with_its_signal_told(remote: AsyncSandboxAgent) -> None:
    stubborn = await remote.processes.start("trap '' TERM; echo ready; while :; do sleep 0.1; done")
    async with asyncio.timeout(20):
        async for line in stubborn:
            assert line == "ready"
            break
    with pytest.raises(TimeoutError):
        await stubborn.wait(0.1)
    assert (await stubborn.stop(timeout=0.2)).signal == "SIGKILL"
    other = await remote.processes.start(["sleep", "600"])
    assert (await other.kill()).signal == "SIGKILL"
    assert "exited: sleep 600" in repr(other)


@pytest.fixture
async def cut(own_server: LiveServer) -> AsyncIterator[CuttingProxy]:
    async with CuttingProxy("127.0.0.1", own_server.port) as proxy:
        yield proxy


@pytest.mark.clause("processes-sdk")
async def test_output_goes_on_where_it_was_after_a_cut(connect: Connect, cut: CuttingProxy) -> None:
    client = await connect(cut.url)
    process = await client.processes.start(
        "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); sleep 0.002; done"
    )
    lines: list[str] = []
    async with asyncio.timeout(40):
        async for line in process:
            lines.append(line)
            if len(lines) in (50, 150):
                cut.cut_now()
    assert lines == [str(number) for number in range(300)]


@pytest.mark.clause("processes-sdk")
async def test_a_terminal_takes_input_sizes_and_cuts(connect: Connect, cut: CuttingProxy) -> None:
    client = await connect(cut.url)
    async with await client.terminals.open(["sh"], cols=100, rows=30) as terminal:
        seen = bytearray()

        async def until(text: bytes) -> None:
            async for data in terminal:
                seen.extend(data)
                if text in seen:
                    return

        async with asyncio.timeout(40):
            await terminal.send("stty size; echo fir''st\n")
            await until(b"first")
            assert b"30 100" in seen
            cut.cut_now()
            reader = asyncio.create_task(until(b"second"))
            other = await connect()
            twin = await other.terminals.attach(terminal.id)
            await twin.resize(120, 40)
            await twin.send(b"stty size; echo sec''ond\n")
            await reader
            assert b"40 120" in seen and seen.count(b"first") == 1
            await twin.send("exit 5\n")
            async for data in terminal:
                seen.extend(data)
            await twin.detach()
    assert (terminal.exit_code, terminal.exit_signal) == (5, None)
    await terminal.process.delete()


@pytest.mark.clause("processes-sdk")
@pytest.mark.parametrize("seed", range(2))
async def test_a_terminal_loses_and_repeats_nothing_wherever_its_connection_breaks(
    connect: Connect, cut: CuttingProxy, seed: int
) -> None:
    chance = Random(seed)  # noqa: S311 - to be replayed, not to be secret
    sockets = 0

    def plan(_: int, head: bytes) -> Cut | None:
        nonlocal sockets
        if b"upgrade: websocket" not in head.lower() or sockets == 12:
            return None
        sockets += 1
        # The answer to the handshake has passed by then; what follows is cut anywhere.
        return Cut("down", chance.randrange(300, 900), reset=chance.random() < 0.5)

    cut.plan = plan
    client = await connect(cut.url)
    script = "stty -opost; i=0; while [ $i -lt 200 ]; do echo line $i; i=$((i+1)); sleep 0.005; done"
    async with asyncio.timeout(60), await client.terminals.open(script) as terminal:
        seen = b"".join([data async for data in terminal])
    assert seen == b"".join(b"line %d\n" % number for number in range(200))
    assert cut.cuts >= 5
    await terminal.process.delete()


async def test_what_is_not_a_terminal_is_refused_and_a_server_in_this_process_has_none(
    remote: AsyncSandboxAgent, client: AsyncSandboxAgent
) -> None:
    from sandbox_agent import ConflictError, SandboxAgentError

    process = await remote.processes.start(["sleep", "600"])
    with pytest.raises(ConflictError):
        await remote.terminals.attach(process.id)
    await process.delete()
    with pytest.raises(NotFoundError):
        await remote.terminals.attach("proc_99")
    assert (await client.processes.run("echo in process")).stdout == "in process\n"
    with pytest.raises(SandboxAgentError, match="listens"):
        await client.terminals.open(["true"])


@pytest.mark.clause("processes-sdk")
async def test_the_synchronous_face_offers_the_same(own_server: LiveServer) -> None:
    def use() -> None:
        with SandboxAgent.connect(own_server.url, own_server.token) as client:
            assert client.processes.run("echo hi", check=True).stdout == "hi\n"
            process = client.processes.start(["cat"])
            process.stdin.write("a\nb")
            process.stdin.close()
            assert list(process) == ["a", "b"]
            assert process.wait(10).exit_code == 0
            with client.terminals.open(["sh", "-c", "echo hello; exit 6"]) as terminal:
                assert b"hello" in b"".join(terminal)
            assert terminal.exit_code == 6
            terminal.process.delete()

    await asyncio.to_thread(use)
