"""Measure the first turn of real agents: cold, with `--warm`, and through the reference; fake model.

    python -m tests.real_agents.warm_turns codex gemini claude opencode

Prints a table: from the first POST of a new instance to the end of its first turn, medians. The turns
alternate, so all of them meet the same load; the machine should do nothing else. Four agents in three rounds
take about three minutes. Agents that are missing are installed first. A cold instance has a variable of its
own, which no warm process fits. The reference starts the same launcher, under the id `pi` for agents that it
does not know; `--no-reference` leaves it out. SANDBOX_AGENT_TEST_AGENTS is the directory of installed agents,
`.cache/agents` by default.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from scripts.docs_pages.conformance_report import reference_binary

from tests.real_agents.conftest import client, pins, start_server
from tests.real_agents.driver import Driver, install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES
from tests.support.server_process import ServerProcess, place_launcher

_ROOT = Path(__file__).parents[2]
_LOADED_AFTER_MS = 5000
_LIMIT_S = 120.0
_KNOWN_TO_REFERENCE = ("claude", "codex", "opencode", "amp", "pi")
_HEADER = (
    "| agent | reference, s | cold, s | warm, s | memory of a waiting process, MB |\n|---|---|---|---|---|"
)


async def measure(agent: str, rounds: int, data_home: Path, reference: Path | None) -> str:
    """One row of the table."""
    with FakeModel() as model, tempfile.TemporaryDirectory() as folder:
        directory = Path(folder)
        async with httpx.AsyncClient() as unused:
            variables = Matrix(RECIPES[agent], unused, model.base, directory / agent).env
        settings = {**variables, "SANDBOX_AGENT_WARM": f"{agent}=1"}
        server = await asyncio.to_thread(start_server, directory / "server", data_home, settings)
        other = reference and await asyncio.to_thread(
            _start_reference, reference, directory / "reference", data_home, agent, variables
        )
        times: dict[str, list[float]] = {"reference": [], "cold": [], "warm": []}
        try:
            async with client(server) as http:
                await install(http, agent)
                for number in range(rounds):
                    waiting = await _loaded(http)
                    if other is not None:
                        async with client(other) as compared:
                            known = agent if agent in _KNOWN_TO_REFERENCE else "pi"
                            turn = await _first_turn(compared, known, f"x-{number}", str(other.home), {})
                            times["reference"].append(turn)
                    own = {"COLD": str(number)}
                    times["cold"].append(await _first_turn(http, agent, f"c-{number}", str(server.home), own))
                    times["warm"].append(await _first_turn(http, agent, f"w-{number}", str(server.home), {}))
        finally:
            for running in filter(None, (server, other)):
                await asyncio.to_thread(running.stop)
                running.kill_leftovers()
    memory = round(waiting["memoryBytes"] / 1e6)
    cells = [f"{statistics.median(found):.2f}" if found else "-" for found in times.values()]
    return f"| {agent} | {' | '.join(cells)} | {memory} |"


def _start_reference(
    binary: Path, directory: Path, data_home: Path, agent: str, variables: Mapping[str, str]
) -> ServerProcess:
    """The reference, with a launcher that starts our installed agent."""
    known = agent if agent in _KNOWN_TO_REFERENCE else "pi"
    launcher = data_home / "sandbox-agent" / "bin" / "agent_processes" / f"{agent}-acp"
    own = directory / "agents"
    place_launcher(own, known, f'#!/bin/sh\nexec {launcher} "$@"\n')
    program = own / "sandbox-agent" / "bin" / known
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    settings = {**variables, "XDG_DATA_HOME": str(own)}
    return ServerProcess(directory, settings=settings, token=None, program=[str(binary)]).ready()


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
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-reference", action="store_true")
    parser.add_argument("agents", nargs="+", choices=sorted(RECIPES))
    options = parser.parse_args(arguments)
    named = os.environ.get("SANDBOX_AGENT_TEST_AGENTS")
    data_home = Path(named) if named else _ROOT / ".cache" / "agents" / pins()
    data_home.mkdir(parents=True, exist_ok=True)
    reference = None if options.no_reference else reference_binary()
    print(_HEADER)
    for agent in options.agents:
        print(asyncio.run(measure(agent, options.rounds, data_home, reference)), flush=True)


if __name__ == "__main__":
    main()
