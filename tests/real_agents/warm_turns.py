"""Measure the first turn of real agents with and without `--warm`, against the fake model.

    python -m tests.real_agents.warm_turns --rounds 5 codex gemini claude opencode

Prints a table: from the first POST of a new instance to the end of its first turn, medians. Cold and warm
turns alternate on one server, so both meet the same load. A cold instance has a variable of its own, which no
warm process fits. SANDBOX_AGENT_TEST_AGENTS is the directory of installed agents.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from tests.real_agents.conftest import client, start_server
from tests.real_agents.driver import Driver
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES

_LOADED_AFTER_MS = 5000
_LIMIT_S = 120.0


async def measure(agent: str, rounds: int, data_home: Path) -> str:
    """One row of the table."""
    with FakeModel() as model, tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        async with httpx.AsyncClient() as unused:
            variables = Matrix(RECIPES[agent], unused, model.base, directory / agent).env
        settings = {**variables, "SANDBOX_AGENT_WARM": f"{agent}=1"}
        server = await asyncio.to_thread(start_server, directory / "server", data_home, settings)
        cold: list[float] = []
        warm: list[float] = []
        try:
            async with client(server) as http:
                for number in range(rounds):
                    waiting = await _loaded(http)
                    warm.append(await _first_turn(http, agent, f"warm-{number}", str(server.home), {}))
                    await _loaded(http)
                    own = {"COLD": str(number)}
                    cold.append(await _first_turn(http, agent, f"cold-{number}", str(server.home), own))
        finally:
            await asyncio.to_thread(server.stop)
    memory = round(waiting["memoryBytes"] / 1e6)
    return f"| {agent} | {statistics.median(cold):.2f} | {statistics.median(warm):.2f} | {memory} |"


async def _loaded(http: httpx.AsyncClient) -> dict[str, Any]:
    """A warm process that has had the time to load."""
    async with asyncio.timeout(_LIMIT_S):
        while True:
            listed = (await http.get("/v1/acp")).json()["warm"]
            if listed and time.time() * 1000 - listed[0]["startedAtMs"] > _LOADED_AFTER_MS:
                found: dict[str, Any] = listed[0]
                return found
            await asyncio.sleep(0.1)


async def _first_turn(
    http: httpx.AsyncClient, agent: str, server_id: str, cwd: str, env: dict[str, str]
) -> float:
    async with Driver(http, server_id, agent, cwd=cwd, env=env) as driver:
        begin = time.perf_counter()
        await driver.start()
        session = (await driver.new_session())["sessionId"]
        turn = await driver.prompt(session, "hello")
        assert turn.stop_reason == "end_turn", turn
        return time.perf_counter() - begin


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("agents", nargs="+", choices=sorted(RECIPES))
    options = parser.parse_args(arguments)
    data_home = Path(os.environ["SANDBOX_AGENT_TEST_AGENTS"])
    print("| agent | cold, s | warm, s | memory of a waiting process, MB |\n|---|---|---|---|")
    for agent in options.agents:
        print(asyncio.run(measure(agent, options.rounds, data_home)), flush=True)


if __name__ == "__main__":
    main()
