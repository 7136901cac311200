"""The benchmark command: prepare both servers, measure them alternately, print and write the result."""

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

from bench import paths, programs
from bench.cases import idle, memory, page, processes, replay, requests, sdk, startup, streams, websocket
from bench.plan import FULL, QUICK, Plan
from bench.reference import reference_binary
from bench.results import report
from bench.results.measurements import Measurements
from bench.server_under_test import ServerUnderTest
from bench.wheel_install import chart_python, install_ours, python_version


@dataclass(frozen=True)
class Case:
    name: str
    measure: Callable[[ServerUnderTest, Plan, Measurements], Iterator[None]]
    """Yields when no server is running, so that another server can be measured."""
    servers: frozenset[str]
    heavy: bool = False


ALL_SERVERS = frozenset({report.OURS, report.REFERENCE, report.QUIET})
BOTH = frozenset({report.OURS, report.REFERENCE})

CASES = (
    Case("start", startup.measure, ALL_SERVERS),
    Case("requests", requests.measure, ALL_SERVERS),
    Case("streams", streams.measure, ALL_SERVERS),
    Case("websocket", websocket.measure, frozenset({report.OURS})),
    Case("processes", processes.measure, BOTH),
    Case("memory", memory.measure, ALL_SERVERS, heavy=True),
    Case("idle", idle.measure, BOTH, heavy=True),
    # The reference keeps 1024 events in memory and none on disk, so it has nothing to replay.
    Case("replay", replay.measure, frozenset({report.OURS}), heavy=True),
    Case("sdk", sdk.measure, frozenset({report.OURS}), heavy=True),
    Case("page", page.measure, frozenset({report.OURS}), heavy=True),
)


def servers_under_test(ours: Path) -> list[ServerUnderTest]:
    reference, flags = reference_binary(), ("--no-telemetry",)
    return [
        ServerUnderTest(report.OURS, (ours,)),
        ServerUnderTest(report.REFERENCE, (reference,), flags=flags),
        ServerUnderTest(report.QUIET, (reference,), environment={"RUST_LOG": "error"}, flags=flags),
    ]


def measure(servers: list[ServerUnderTest], plan: Plan, chosen: list[str]) -> Measurements:
    measurements, begun = Measurements(), time.monotonic()
    for round_number in range(plan.rounds):
        for case in CASES:
            # The first round may take longer, so that every case is measured at least once.
            limit = plan.time_budget if round_number else plan.time_budget * 1.3
            if case.name not in chosen:
                continue
            if time.monotonic() - begun > limit:
                if not round_number:
                    _print(f"out of time: {case.name} is not measured")
                continue
            if case.heavy and round_number >= plan.heavy_rounds:
                continue
            _print(f"round {round_number + 1}: {case.name}")
            turn = round_number % len(servers)
            alternate(
                [
                    case.measure(tested, plan, measurements)
                    for tested in servers[turn:] + servers[:turn]
                    if tested.name in case.servers
                ]
            )
    return measurements


def alternate(measurements: list[Iterator[None]]) -> None:
    """One step of each measurement after the other, so that compared values are seconds apart."""
    finished = object()
    while measurements:
        measurements = [one for one in measurements if next(one, finished) is not finished]


def main() -> None:
    options = _arguments()
    begun = time.monotonic()
    # Exit through the context managers, which stop the servers.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    _warn_if_busy()
    programs.build()
    ours = Path(options.ours_binary).resolve() if options.ours_binary else install_ours(options.python)
    plan, mode = (QUICK, "scripts/bench --quick") if options.quick else (FULL, "scripts/bench")
    measurements = measure(servers_under_test(ours), plan, options.only or [case.name for case in CASES])
    result = report.document(measurements, mode, time.monotonic() - begun, python_version(ours))
    print(report.table(report.rows(measurements)))
    print(report.integrity(measurements))
    saved, chart = paths.RESULTS / "result.json", paths.RESULTS / "chart.png"
    report.save(result, saved)
    try:
        drawn = [
            str(chart_python()),
            str(paths.ROOT / "bench" / "results" / "chart.py"),
            str(saved),
            str(chart),
        ]
        subprocess.run(drawn, check=True, timeout=120)
    except (subprocess.SubprocessError, OSError) as problem:
        _print(f"no chart: {problem}")
    if options.write_docs:
        report.write_docs(result)
        paths.DOCS_CHART.write_bytes(chart.read_bytes())
    _print(f"written: {saved}, {chart}; {time.monotonic() - begun:.0f} s")


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
    parser.add_argument(
        "--write-docs", action="store_true", help="write the figures into docs/performance.md"
    )
    return parser.parse_args()


def _warn_if_busy() -> None:
    load = os.getloadavg()[0]
    if load > 1:
        _print(f"the load average is {load:.1f}: trust CPU figures more than throughput and latency")


def _print(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
