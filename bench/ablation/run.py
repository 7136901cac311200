"""The ablation table: each trick of the server with and without it, in alternating runs.

Both sides run from this checkout through `patched_server`. For each trick the two servers alternate, each run
with a fresh server, and the order changes with every round. The table shows medians and quartiles of the
figures. A trick earns its place if it improves its figure by at least 10 % and the quartiles do not overlap.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

from bench import process_usage, programs
from bench.ablation.tricks import TRICKS, Trick
from bench.cases.replay import EVENT_BYTES
from bench.paths import DOCS_PAGE, ROOT
from bench.plan import KB, MB
from bench.programs import result_of
from bench.server_under_test import RunningServer, ServerUnderTest

MIN_RUNS = 5
MIN_GAIN_PERCENT = 10
WARMUP_MS = 200
REPLAY_EVENTS = 50_000
PROBE_MS, PROBE_PAUSE_US = 1000, 1000

Measure = Callable[[RunningServer, int], dict[str, float]]


def _requests(size: int, connections: int) -> Measure:
    def measure(server: RunningServer, ms: int) -> dict[str, float]:
        figures = server.load_with_cpu(
            server_id="a", bytes=size, connections=connections, ms=ms, warmup_ms=WARMUP_MS
        )
        return {"requests/s": figures["per_second"], "CPU µs per request": figures["cpu_us"]}

    return measure


def _long_requests_with_full_ring(server: RunningServer, ms: int) -> dict[str, float]:
    """Requests of 1 MB while every event goes to disk: the ring of 64 MiB has been filled before."""
    measure = _requests(MB, 8)
    measure(server, 700)
    return measure(server, 2 * ms)


def _flood(readers: int) -> Measure:
    def measure(server: RunningServer, ms: int) -> dict[str, float]:
        figures = server.read_stream_with_cpu(
            server_id="a", mode="flood", readers=readers, count=100 * ms // readers, bytes=200
        )
        return {"events/s": figures["events_per_second"], "CPU µs per event": figures["cpu_us"]}

    return measure


def _one_event(server: RunningServer, ms: int) -> dict[str, float]:
    figures = server.read_stream(server_id="a", mode="stamp", readers=1, count=ms, pause_us=1000)
    return {"p50 µs": figures["p50_us"]}


def _replay(server: RunningServer, ms: int) -> dict[str, float]:
    _publish(server)
    before = process_usage.cpu_seconds(server.pid)
    figures = server.read_stream(
        server_id="a", mode="replay", readers=1, count=REPLAY_EVENTS, bytes=EVENT_BYTES, again_ms=ms
    )
    spent = process_usage.cpu_seconds(server.pid) - before
    delivered = max(1, figures["delivered"])
    return {"events/s": delivered / figures["seconds"], "CPU µs per event": spent * 1e6 / delivered}


def _replay_beside_load(server: RunningServer, ms: int) -> dict[str, float]:
    """The p99 of another instance while replays run; reader, load and agent share a processor."""
    _publish(server)
    server.add_instances(["other"])
    replays = server.start_read_stream(
        server_id="a",
        mode="replay",
        readers=1,
        count=REPLAY_EVENTS,
        bytes=EVENT_BYTES,
        again_ms=PROBE_MS + 500,
    )
    probe = server.load(server_id="other", bytes=200, ms=PROBE_MS, warmup_ms=100, pause_us=PROBE_PAUSE_US)
    result_of(replays)
    return {"other p99 µs": probe["p99_us"]}


def _memory(server: RunningServer, ms: int) -> dict[str, float]:
    return {"resident KB": process_usage.memory(server.pid).resident_kb}


def _publish(server: RunningServer) -> None:
    server.read_stream(server_id="a", mode="flood", readers=1, count=REPLAY_EVENTS, bytes=EVENT_BYTES)


CASES: dict[str, Measure] = {
    "200 B x1": _requests(200, 1),
    "200 B x8": _requests(200, 8),
    "64 KB x1": _requests(64 * KB, 1),
    "1 MB x8": _requests(MB, 8),
    "1 MB x8, ring full": _long_requests_with_full_ring,
    "flood x1": _flood(1),
    "flood x10": _flood(10),
    "one event": _one_event,
    "replay": _replay,
    "replay beside load": _replay_beside_load,
    "memory": _memory,
}


@dataclass(frozen=True)
class Comparison:
    trick: Trick
    figure: str
    with_it: list[float]
    without: list[float]

    @property
    def gain_percent(self) -> float:
        """How much better the median is with the trick; rates are better when higher, costs when lower."""
        with_it, without = median(self.with_it), median(self.without)
        better, worse = (with_it, without) if self.figure.endswith("/s") else (without, with_it)
        return (better / worse - 1) * 100 if worse else 0.0

    @property
    def is_inside_spread(self) -> bool:
        """Whether the quartiles of the two sides overlap."""
        (low, _, high), (other_low, _, other_high) = quantiles(self.with_it), quantiles(self.without)
        return low <= other_high and other_low <= high

    def verdict(self) -> str:
        if self.gain_percent < MIN_GAIN_PERCENT:
            return f"below {MIN_GAIN_PERCENT} %"
        return "inside the spread" if self.is_inside_spread else "pays"


def compare(number: int, runs: int, ms: int) -> list[Comparison]:
    """Measure one trick: `runs` runs with it and as many without it, alternating."""
    trick = TRICKS[number]
    sides = {"with": server_of("all"), "without": server_of(str(number))}
    values: dict[str, dict[str, list[float]]] = {"with": {}, "without": {}}
    for run in range(runs):
        for side in ("with", "without") if run % 2 else ("without", "with"):
            with sides[side].running() as server:
                server.add_instances(["a"])
                server.load(server_id="a", bytes=200, ms=WARMUP_MS)
                for figure, value in CASES[trick.case](server, ms).items():
                    values[side].setdefault(figure, []).append(value)
    return [
        Comparison(trick, figure, with_it, values["without"][figure])
        for figure, with_it in values["with"].items()
    ]


def server_of(chosen: str) -> ServerUnderTest:
    command = (sys.executable, "-m", "bench.ablation.patched_server", chosen)
    return ServerUnderTest(chosen, command, environment={"PYTHONPATH": str(ROOT)})


def table(comparisons: list[Comparison]) -> str:
    lines = [
        "| trick | case | figure | with | without | gain | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {item.trick.name} | {item.trick.case} | {item.figure} | {_spread(item.with_it)} "
        f"| {_spread(item.without)} | {item.gain_percent:+.0f} % | {item.verdict()} |"
        for item in comparisons
    ]
    return "\n".join(lines)


def _spread(values: list[float]) -> str:
    """Median and quartiles."""
    low, middle, high = quantiles(values)
    return f"{_number(middle)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def main() -> None:
    names = sorted({trick.name for trick in TRICKS})
    parser = argparse.ArgumentParser(prog="scripts/ablation", description=__doc__)
    parser.add_argument("--only", action="append", choices=names, metavar="TRICK", help="repeatable")
    parser.add_argument("--runs", type=int, default=7, help=f"runs per side, at least {MIN_RUNS} [7]")
    parser.add_argument("--ms", type=int, default=1500, help="measured time of a run in milliseconds [1500]")
    parser.add_argument("--write-docs", action="store_true", help="write the table into docs/performance.md")
    options = parser.parse_args()
    if options.runs < MIN_RUNS:
        parser.error(f"--runs must be at least {MIN_RUNS}")
    programs.build()
    comparisons = []
    for number, trick in enumerate(TRICKS):
        if not options.only or trick.name in options.only:
            print(f"{trick.name}, {trick.case}", file=sys.stderr, flush=True)
            comparisons += compare(number, options.runs, options.ms)
    result = f"{options.runs} runs per side, load average {os.getloadavg()[0]:.1f}.\n\n{table(comparisons)}"
    print(result)
    if options.write_docs:
        write_docs(result)


def write_docs(result: str) -> None:
    """Replace the text between the two comments of the docs page."""
    before, begin, rest = DOCS_PAGE.read_text().partition("<!-- ablation: begin -->\n")
    _, end, after = rest.partition("<!-- ablation: end -->")
    DOCS_PAGE.write_text(f"{before}{begin}\n{result}\n\n{end}{after}")


if __name__ == "__main__":
    main()
