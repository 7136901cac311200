"""Run the matrix for every agent and write it into the docs (`scripts/agents-matrix`).

What works stands in docs/conformance.md; times, memory and quirks stand in docs/agents.md. Only the part
between the two marks of each page is written; agents that were not run keep their rows. The
observations are also kept as JSON beside the installed agents, so that single agents can be run again;
SANDBOX_AGENT_TEST_AGENTS sets another directory for both.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import tempfile
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from sandbox_agent.agents.catalog.catalog import Catalog
from tests.real_agents.conftest import client, pins, start_server
from tests.real_agents.fake_model import FakeModel
from tests.real_agents.matrix import CHECKS, Matrix
from tests.real_agents.recipes import RECIPES

ROOT = Path(__file__).parents[2]
CONFORMANCE_PAGE = ROOT / "docs" / "conformance.md"
AGENTS_PAGE = ROOT / "docs" / "agents.md"
BEGIN, END = "<!-- matrix: begin -->", "<!-- matrix: end -->"
_COLUMNS = {
    "text": "text",
    "thought": "thoughts",
    "tool allowed": "tool",
    "tool rejected": "rejected tool ends with",
    "question": "question by",
    "cancel": "cancel",
    "second session": "2nd session",
    "load after restart": "load",
    "DELETE in mid-tool": "DELETE in mid-tool",
    "agent killed in mid-tool": "killed in mid-tool",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("agents", nargs="*", default=list(RECIPES))
    parser.add_argument("--fresh", action="store_true", help="install everything anew")
    parser.add_argument("--write-only", action="store_true", help="run nothing, write the page again")
    options = parser.parse_args()
    named = os.environ.get("SANDBOX_AGENT_TEST_AGENTS")
    data_home = Path(named) if named else ROOT / ".cache" / "agents" / pins()
    if options.fresh:
        shutil.rmtree(data_home, ignore_errors=True)
    data_home.mkdir(parents=True, exist_ok=True)
    if not options.write_only:
        asyncio.run(observe(options.agents, data_home))
    kept = {path.stem: json.loads(path.read_text()) for path in (data_home / "seen").glob("*.json")}
    seen = [kept[agent] for agent in RECIPES if agent in kept]
    measured = f"Measured on {date.today().isoformat()}, Linux x86_64"
    write_part(CONFORMANCE_PAGE, f"{measured}.", _turns(seen))
    shared = "on a shared machine with two cores: times are upper bounds."
    write_part(AGENTS_PAGE, f"{measured}, {shared}", _costs(seen), _quirks())


async def observe(agents: list[str], data_home: Path) -> None:
    seen = data_home / "seen"
    seen.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, FakeModel() as model:
        server = start_server(Path(directory, "server"), data_home)
        try:
            async with client(server) as http:
                for agent in agents:
                    matrix = Matrix(RECIPES[agent], http, model.base, Path(directory, agent))
                    found = asdict(await matrix.observe())
                    _keep_install_time(found, seen / f"{agent}.json")
                    (seen / f"{agent}.json").write_text(json.dumps(found))
                    _tell(found)
        finally:
            server.stop()


def _keep_install_time(found: dict[str, Any], earlier: Path) -> None:
    """Keep the time of the real install if the agent was already installed in this run."""
    if found["checks"]["install"]["note"] == "was there" and earlier.exists():
        found["checks"]["install"] = json.loads(earlier.read_text())["checks"]["install"]


def _tell(found: dict[str, Any]) -> None:
    print(f"{found['agent']} {found['version']}", flush=True)
    for name, check in found["checks"].items():
        mark = {True: "yes", False: "NO", None: "-"}[check["works"]]
        note = check["note"] if check["works"] is not False else check["note"][-600:]
        print(f"  {name:26} {mark:4} {check['milliseconds']:7} ms  {note}", flush=True)


def write_part(path: Path, *paragraphs: str) -> None:
    """Replace what stands between the marks of a page."""
    head, _, rest = path.read_text().partition(BEGIN)
    _, _, tail = rest.partition(END)
    path.write_text(f"{head}{BEGIN}\n\n" + "\n\n".join(paragraphs) + f"\n\n{END}{tail}")


def _turns(seen: list[dict[str, Any]]) -> str:
    rows = [["agent", "version", *_COLUMNS.values()]]
    for found in seen:
        cells = [_cell(name, found["checks"].get(name)) for name in _COLUMNS]
        rows.append([found["agent"], found["version"], *cells])
    return _table(rows)


def _cell(name: str, check: dict[str, Any] | None) -> str:
    if check is None or check["works"] is False:
        return "**no**"
    if check["works"] is None:
        return "-"
    note = str(check["note"])
    if name == "tool rejected":
        return f"`{note}`"
    if name == "question":
        return f"`{note}`"
    return {"asked first": "yes, asks", "ran without asking": "yes, never asks"}.get(note, "yes")


def _costs(seen: list[dict[str, Any]]) -> str:
    catalog = Catalog()
    headers = ["install", "`initialize`", "`session/new`", "first turn"]
    rows = [["agent", *(f"{name}, ms" for name in headers), "memory, MB", "processes", "longest line, bytes"]]
    for found in seen:
        checks = [found["checks"].get(name) for name in ("install", *CHECKS[1:4])]
        times = [str(check["milliseconds"]) if check and check["works"] else "" for check in checks]
        numbers = [str(found[key]) for key in ("resident_mb", "processes", "longest_line")]
        rows.append([catalog.get(found["agent"]).id, *times, *numbers])
    return _table(rows)


def _quirks() -> str:
    catalog = Catalog()
    lines = [f"- **{agent}**: {' '.join(catalog.get(agent).quirks)}" for agent in catalog.ids()]
    return "### Quirks\n\n" + "\n".join(line for line in lines if not line.endswith(": "))


def _table(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * len(rows[0]))
    return "\n".join(lines)


if __name__ == "__main__":
    main()
