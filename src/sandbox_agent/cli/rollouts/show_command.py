"""The figures of an output directory: a table, and a histogram of the times."""

from __future__ import annotations

import json
from collections.abc import Iterable
from statistics import quantiles
from textwrap import shorten
from typing import Any

import click

from sandbox_agent.cli.output import print_table
from sandbox_agent.cli.rollouts.time_histogram import text_histogram
from sandbox_agent.rollouts.result import Result
from sandbox_agent.rollouts.tally import Tally
from sandbox_agent.terminal_text import printable

_ERROR_CHARS = 300


def print_summary(rows: Iterable[Result], *, title: str, as_json: bool = False) -> None:
    results = list(rows)
    tally = Tally.of(results)
    examples: dict[str, Result] = {}
    for result in results:
        if result.failed:
            examples.setdefault(result.error_kind or "other", result)
    seconds = [result.seconds for result in results]
    if as_json:
        click.echo(json.dumps(_figures(tally, seconds), indent=2))
        return
    figures = [
        (name.replace("_", " "), f"{value:.3f}".rstrip("0").rstrip(".") if value else "0")
        for name, value in _figures(tally, seconds).items()
        if name != "failures"
    ]
    figures += [(f"failed: {kind}", str(count)) for kind, count in tally.failures.most_common()]
    click.echo(printable(title))
    print_table(("figure", "value"), figures)
    for kind, result in examples.items():
        error = shorten(result.error or "", _ERROR_CHARS)
        click.echo(printable(f"first failure of {kind}, task {result.id}: {error}"))
    for line in text_histogram(results):
        click.echo(line)


def _figures(tally: Tally, seconds: list[float]) -> dict[str, Any]:
    return {
        "rollouts": tally.done,
        "passed": tally.passed,
        "failed": tally.failed,
        "pass_rate": None if tally.pass_rate is None else round(tally.pass_rate, 4),
        "cost_usd": round(tally.cost_usd, 6),
        "tokens": tally.tokens,
        "seconds_median": _percentile(seconds, 50),
        "seconds_p95": _percentile(seconds, 95),
        "failures": dict(tally.failures),
    }


def _percentile(values: list[float], percent: int) -> float:
    if len(values) < 2:
        return round(sum(values), 3)
    return round(quantiles(values, n=100, method="inclusive")[percent - 1], 3)
