"""Measure each native adapter and the published one: `python -m tests.agents.adapters.comparison`.

Both run through one server against the fake model, one after the other, three times; the table has the
medians. It is written, with what each can do (comparison.md), between the marks of docs/agents.md and
docs/native-adapters.md. The figures are kept beside the installed agents; `--write-only` measures nothing.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import httpx

from tests.agents.adapters.recipes import NATIVE_RECIPES
from tests.real_agents import home_processes
from tests.real_agents.conftest import client, pins, start_server
from tests.real_agents.driver import install
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import Matrix
from tests.real_agents.recipes import RECIPES

_ROOT = Path(__file__).parents[3]
_PAGES = (_ROOT / "docs/agents.md", _ROOT / "docs/native-adapters.md")
_TEMPLATE = Path(__file__).with_suffix(".md")
"""What each adapter can do, and which one is the default and why."""
_BEGIN, _END = "<!-- side by side: begin -->", "<!-- side by side: end -->"
_ROUNDS = 3
_AGENTS = [agent for name in ("claude", "codex", "opencode", "amp") for agent in (name, f"{name}-native")]
_COLUMNS = {
    "initialize": "`initialize`, ms",
    "session/new": "`session/new`, ms",
    "first turn": "first turn, ms",
    "second turn": "second turn, ms",
    "memory": "memory at rest, MB",
    "processes": "processes at rest",
}
Numbers = dict[str, int]


async def measure(agent: str, http: httpx.AsyncClient, base: str, directory: Path) -> Numbers:
    """One instance with one session and two turns."""
    matrix = Matrix((RECIPES | NATIVE_RECIPES)[agent], http, base, directory)
    numbers: Numbers = {}

    async def timed(name: str, work: Awaitable[Any]) -> None:
        start = time.monotonic()
        await work
        numbers[name] = round((time.monotonic() - start) * 1000)

    async with matrix.driver() as driver:
        await timed("initialize", matrix._initialize(driver))
        await timed("session/new", matrix._new_session(driver))
        for name in ("first turn", "second turn"):
            await timed(name, matrix._text(driver))
        # The measurement is that of a process at rest; those that end with the turn have exited by then.
        await asyncio.sleep(2)
        tree = home_processes.with_home(matrix.home)
        numbers |= {"memory": home_processes.resident_mb(tree), "processes": len(tree)}
    return numbers


async def measure_all(data_home: Path) -> dict[str, Numbers]:
    rounds: dict[str, list[Numbers]] = {agent: [] for agent in _AGENTS}
    with tempfile.TemporaryDirectory() as directory, FakeModel() as model:
        server = start_server(Path(directory, "server"), data_home)
        try:
            async with client(server) as http:
                for agent in _AGENTS:
                    await install(http, agent)
                for number in range(_ROUNDS):
                    for agent in _AGENTS:
                        place = Path(directory, f"{agent}-{number}")
                        rounds[agent].append(await measure(agent, http, model.base, place))
                        print(agent, rounds[agent][-1], flush=True)
        finally:
            server.stop()
    return {agent: _medians(numbers) for agent, numbers in rounds.items()}


def _medians(rounds: list[Numbers]) -> Numbers:
    return {name: round(statistics.median(numbers[name] for numbers in rounds)) for name in _COLUMNS}


def table(seen: dict[str, Numbers]) -> str:
    rows = [["agent", *_COLUMNS.values()]]
    rows += [[agent, *(str(numbers[name]) for name in _COLUMNS)] for agent, numbers in seen.items()]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


def write(page: Path, text: str) -> None:
    head, _, rest = page.read_text().partition(_BEGIN)
    _, _, tail = rest.partition(_END)
    page.write_text(f"{head}{_BEGIN}\n\n{text}\n\n{_END}{tail}")


def main() -> None:
    data_home = _ROOT / ".cache" / "agents" / pins()
    kept = data_home / "side-by-side.json"
    if "--write-only" not in sys.argv:
        kept.write_text(json.dumps(asyncio.run(measure_all(data_home))))
    for page in _PAGES:
        write(page, _TEMPLATE.read_text().strip().replace("{costs}", table(json.loads(kept.read_text()))))


if __name__ == "__main__":
    main()
