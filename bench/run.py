"""The benchmark's command: prepares both servers, measures them in turns, prints and writes the result."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench import places, programs, report
from bench.cases import idle, memory, replay, requests, startup, streams
from bench.contender import Contender
from bench.ledger import Ledger
from bench.ours import chart_python, install_ours, python_version
from bench.plan import FULL, QUICK, Plan
from bench.reference import reference_binary


@dataclass(frozen=True)
class Case:
    name: str
    measure: Callable[[Contender, Plan, Ledger], Iterator[None]]
    """Yields whenever another contender may take its turn: nothing of this one is running then."""
    contenders: frozenset[str]
    heavy: bool = False


EVERYONE = frozenset({report.OURS, report.REFERENCE, report.QUIET})
BOTH = frozenset({report.OURS, report.REFERENCE})

CASES = (
    Case("start", startup.measure, EVERYONE),
    Case("requests", requests.measure, EVERYONE),
    Case("streams", streams.measure, EVERYONE),
    Case("memory", memory.measure, EVERYONE, heavy=True),
    Case("idle", idle.measure, BOTH, heavy=True),
    # The reference keeps 1024 events in memory and none on disk: there is nothing to replay.
    Case("replay", replay.measure, frozenset({report.OURS}), heavy=True),
)


def contenders(ours: Path) -> list[Contender]:
    reference, flags = reference_binary(), ("--no-telemetry",)
    return [
        Contender(report.OURS, ours),
        Contender(report.REFERENCE, reference, flags=flags),
        Contender(report.QUIET, reference, environment={"RUST_LOG": "error"}, flags=flags),
    ]


def measure(servers: list[Contender], plan: Plan, chosen: list[str]) -> Ledger:
    ledger, begun = Ledger(), time.monotonic()
    for round_number in range(plan.rounds):
        for case in CASES:
            # The first round may take a little longer: a figure of one round is better than none.
            limit = plan.time_budget if round_number else plan.time_budget * 1.3
            if case.name not in chosen:
                continue
            if time.monotonic() - begun > limit:
                if not round_number:
                    _say(f"out of time: {case.name} is not measured")
                continue
            if case.heavy and round_number >= plan.heavy_rounds:
                continue
            _say(f"round {round_number + 1}: {case.name}")
            turn = round_number % len(servers)
            _take_turns(
                [
                    case.measure(contender, plan, ledger)
                    for contender in servers[turn:] + servers[:turn]
                    if contender.name in case.contenders
                ]
            )
    return ledger


def _take_turns(measurements: list[Iterator[None]]) -> None:
    """One step of each after the other: what is compared is measured within seconds."""
    over = object()
    while measurements:
        measurements = [one for one in measurements if next(one, over) is not over]


def main() -> None:
    options = _arguments()
    begun = time.monotonic()
    # An orderly end, so that the servers are stopped too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _warn_if_busy()
    programs.build()
    ours = Path(options.ours_binary).resolve() if options.ours_binary else install_ours(options.python)
    plan, mode = (QUICK, "scripts/bench --quick") if options.quick else (FULL, "scripts/bench")
    ledger = measure(contenders(ours), plan, options.only or [case.name for case in CASES])
    result = report.document(ledger, mode, time.monotonic() - begun, python_version(ours))
    print(report.table(report.rows(ledger)))
    print(report.integrity(ledger))
    saved, chart = places.RESULTS / "result.json", places.RESULTS / "chart.png"
    report.save(result, saved)
    try:
        drawn = [str(chart_python()), str(places.ROOT / "bench" / "chart.py"), str(saved), str(chart)]
        subprocess.run(drawn, check=True, timeout=120)
    except (subprocess.SubprocessError, OSError) as problem:
        _say(f"no chart: {problem}")
    if options.write_docs:
        report.write_docs(result)
        places.DOCS_CHART.write_bytes(chart.read_bytes())
    _say(f"written: {saved}, {chart}; {time.monotonic() - begun:.0f} s")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter rounds, under 3 minutes")
    parser.add_argument("--only", action="append", choices=[case.name for case in CASES], help="repeatable")
    parser.add_argument(
        "--ours-binary", metavar="PATH", help="measure this command instead of a fresh install"
    )
    parser.add_argument(
        "--python", metavar="PATH", default=sys.executable, help="install ours for this Python"
    )
    parser.add_argument("--write-docs", action="store_true", help="put the figures into docs/performance.md")
    return parser.parse_args()


def _warn_if_busy() -> None:
    load = os.getloadavg()[0]
    if load > 1:
        _say(f"the load average is {load:.1f}: others need the processors, trust CPU rows more than rates")


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
