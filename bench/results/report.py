"""Measurements as rows, a table for the terminal, a JSON document and the figures of the docs page."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.paths import DOCS_CHART, DOCS_PAGE
from bench.results.budgets import FIGURES, Figure
from bench.results.measurements import Measurements

OURS, REFERENCE, QUIET = "ours", "reference", "reference, log off"
TABLE_BEGIN, TABLE_END = "<!-- figures: begin -->", "<!-- figures: end -->"


@dataclass(frozen=True)
class Row:
    label: str
    unit: str
    ours: float | None
    reference: float | None
    quiet: float | None
    ratio: float | None
    quiet_ratio: float | None
    budget: str
    within: bool | None


def rows(measurements: Measurements) -> list[Row]:
    return [_row(figure, measurements) for figure in FIGURES if figure.name in measurements.values]


def _row(figure: Figure, measurements: Measurements) -> Row:
    ours, reference, quiet = (measurements.median(figure.name, name) for name in (OURS, REFERENCE, QUIET))
    ratio = None if figure.own_value else measurements.ratio(figure.name, OURS, REFERENCE)
    judged = ours if figure.own_value else ratio
    return Row(
        label=figure.label,
        unit=figure.unit,
        ours=ours,
        reference=reference,
        quiet=quiet,
        ratio=ratio,
        quiet_ratio=None if figure.own_value else measurements.ratio(figure.name, OURS, QUIET),
        budget=figure.budget(),
        within=None if judged is None else figure.is_within_budget(judged),
    )


def table(all_rows: list[Row]) -> str:
    """A Markdown table, padded to be readable on a terminal."""
    lines = [("figure", "ours", "reference", "ratio", "ratio, its log off", "budget", "within")]
    lines += [
        (
            row.label,
            _number(row.ours, row.unit),
            _number(row.reference, row.unit),
            _times(row.ratio),
            _times(row.quiet_ratio),
            row.budget,
            {True: "yes", False: "NO", None: ""}[row.within],
        )
        for row in all_rows
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |"
        for line in lines
    ]
    padded.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(padded)


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    text = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{text} {unit}".strip()


def _times(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}x"


def integrity(measurements: Measurements) -> str:
    return "\n".join(f"{name}: {account.sentence()}" for name, account in measurements.integrity.items())


def machine(python: str) -> dict[str, str]:
    cpu = platform.processor() or platform.machine()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    memory = int(Path("/proc/meminfo").read_text().split()[1]) // 1024
    return {
        "processor": f"{cpu}, {os.cpu_count()} cores",
        "memory": f"{memory:,} MB",
        "system": f"Linux {platform.release().split('-')[0]}",
        "python": python,
    }


def document(measurements: Measurements, mode: str, seconds: float, python: str) -> dict[str, Any]:
    """All facts of a run; `python` is the version that our server ran on."""
    return {
        "mode": mode,
        "seconds": round(seconds, 1),
        "load_average": os.getloadavg(),
        "machine": machine(python),
        "rows": [asdict(row) for row in rows(measurements)],
        "integrity": {name: asdict(account) for name, account in measurements.integrity.items()},
        "values": measurements.values,
    }


def write_docs(result: dict[str, Any]) -> None:
    """Replace the figures between the two comments of the docs page."""
    page = DOCS_PAGE.read_text()
    before, _, rest = page.partition(TABLE_BEGIN)
    _, _, after = rest.partition(TABLE_END)
    about = result["machine"]
    checked = "\n".join(
        f"- {name}: {account['checked']:,} messages checked, {account['lost']:,} lost, "
        f"{account['altered']:,} altered, {account['repeated']:,} repeated, {account['refused']:,} refused"
        for name, account in result["integrity"].items()
    )
    figures = (
        f"\nMachine: {about['processor']}, {about['memory']}, {about['system']}, "
        f"Python {about['python']}. Run: `{result['mode']}`, {result['seconds']:.0f} s; load average "
        f"at its end {result['load_average'][0]:.1f}.\n\n"
        f"{table([Row(**row) for row in result['rows']])}\n\n"
        f"Messages during the run:\n\n{checked}\n\n"
        f"![Ratios to the reference]({DOCS_CHART.name})\n"
    )
    DOCS_PAGE.write_text(f"{before}{TABLE_BEGIN}\n{figures}\n{TABLE_END}{after}")


def save(result: dict[str, Any], to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_text(json.dumps(result, indent=1) + "\n")
