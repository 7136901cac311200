"""The network, the server and the editor fail at random: no message is lost or doubled, nothing stays."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from pathlib import Path

import pytest

from tests.cli.acp.conftest import Open
from tests.cli.acp.front import Front
from tests.sdk.cutting_proxy import Cut, CuttingProxy
from tests.support.polling import eventually
from tests.support.server_process import ServerProcess

MESSAGES = 40
SEEDS = [*range(2), *(pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 40))]


def cutting_plan(chance: random.Random, proxy: CuttingProxy) -> None:
    """Cut most connections somewhere in a head, body or answer, up to a number of times."""

    def plan(number: int, head: bytes) -> Cut | None:
        if proxy.cuts >= MESSAGES or chance.random() < 0.1:
            return None
        direction = chance.choice(("up", "down"))
        limit = 900 if direction == "up" else 4000
        return Cut(direction, chance.randrange(limit), reset=chance.random() < 0.5)

    proxy.plan = plan


async def talk(front: Front, proxy: CuttingProxy, chance: random.Random) -> list[bytes]:
    """Requests, notifications and answers to requests of the agent; returns what was sent."""
    sent = []
    for number in range(MESSAGES):
        ask = {"id": f"q-{number}", "answer": False}
        kind, params = chance.choice(
            [
                ("test/echo", {"n": number}),
                ("test/flood", {"count": 20, "first": number * 20}),
                ("test/ask_client", ask),
            ]
        )
        message = {"jsonrpc": "2.0", "method": kind, "params": params}
        if kind != "test/ask_client":
            message["id"] = number
        sent.append(json.dumps(message).encode())
        await front.send(sent[-1])
        if kind == "test/ask_client":
            await front.wait_for(lambda message, name=ask["id"]: message.get("id") == name, "a question")  # type: ignore[misc]
            sent.append(b'{"jsonrpc":"2.0","id":"%b","result":{}}' % str(ask["id"]).encode())
            await front.send(sent[-1])
        if chance.random() < 0.2:
            proxy.cut_now()
        if chance.random() < 0.3 and "id" in message:
            await front.answer(number)
    for line in sent:
        message = json.loads(line)
        if "method" in message and "id" in message:
            await front.answer(message["id"])
    return sent


@pytest.mark.timeout(120)
@pytest.mark.clause("front-random-network")
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_network_that_breaks_loses_and_repeats_nothing(
    open_remote: Open, server: ServerProcess, tmp_path: Path, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a repeatable fault
    record = tmp_path / "received"
    async with CuttingProxy("127.0.0.1", server.port) as proxy:
        front = await open_remote(url=proxy.url)
        await front.request("record", "test/record", {"path": str(record)})
        cutting_plan(chance, proxy)
        proxy.cut_now()
        sent = await talk(front, proxy, chance)
        proxy.plan = lambda number, head: None
        front.end_input()
        assert await front.wait() == 0
        assert proxy.cuts > 8
    assert record.read_bytes().splitlines() == sent
    answers = [message["id"] for message in front.messages if "method" not in message]
    expected = [json.loads(line) for line in sent]
    assert answers == ["record", *(one["id"] for one in expected if "method" in one and "id" in one)]
    ticks = [message["params"]["n"] for message in front.messages if message.get("method") == "test/tick"]
    floods = [one["params"]["first"] for one in expected if one.get("method") == "test/flood"]
    assert ticks == [first + n for first in floods for n in range(20)]
    questions = [message["id"] for message in front.messages if message.get("method") == "client/ask"]
    assert questions == [one["params"]["id"] for one in expected if one.get("method") == "test/ask_client"]
    assert json.loads(server.client.get("/v1/acp").body)["servers"] == []


@pytest.mark.timeout(120)
@pytest.mark.clause("front-random-server")
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_server_killed_at_any_moment_leaves_no_request_open(
    open_remote: Open, server: ServerProcess, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a repeatable fault
    front = await open_remote("--reconnect-for", "0.5")
    await front.request("first", "test/echo")
    moment = chance.uniform(0, 0.15)

    async def kill() -> None:
        await asyncio.sleep(moment)  # the random moment under test
        server.process.kill()

    killing = asyncio.create_task(kill())
    for number in range(MESSAGES):
        method = chance.choice(("test/echo", "test/silent", "test/flood"))
        try:
            await front.send({"id": number, "method": method, "params": {"count": 5}})
        except (BrokenPipeError, ConnectionResetError):
            break
    await killing
    assert await front.wait() == 1
    answers = [message["id"] for message in front.messages if "method" not in message]
    assert len(answers) == len(set(answers))
    # Messages are read in order, so what was read before the end is a beginning of what was sent.
    numbers = sorted(answer for answer in answers if answer != "first")
    assert numbers == list(range(len(numbers)))
    await eventually(lambda: not server.marked_processes(), 20)


@pytest.mark.timeout(120)
@pytest.mark.clause("front-random-editor")
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_front_killed_at_any_moment_leaves_nothing_running(
    open_remote: Open, local: Front, server: ServerProcess, seed: int
) -> None:
    chance = random.Random(seed)  # noqa: S311 - a repeatable fault
    remote = await open_remote()
    for front in (remote, local):
        await front.send({"id": 0, "method": "test/fork_setsid", "params": {"ignore_signals": True}})
        await front.send({"id": 1, "method": "test/flood", "params": {"count": 10**6, "background": True}})
    await asyncio.sleep(chance.uniform(0, 0.7))  # the random moment under test
    for front in (remote, local):
        os.kill(front.pid, chance.choice((signal.SIGKILL, signal.SIGTERM, signal.SIGHUP)))
    await eventually(lambda: not remote.left() and not local.left(), 30)

    def quiet() -> bool:
        rest = {pid: line for pid, line in server.marked_processes().items() if pid != server.pid}
        return all("trap '' HUP INT TERM" in line for line in rest.values())  # the watchdog stays

    await eventually(quiet, 30)
