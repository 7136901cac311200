"""The ablation: every trick can be switched off, and a comparison says whether a trick pays."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from bench.ablation import CASES, Comparison, table
from bench.tricks import TRICKS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("number", range(len(TRICKS)), ids=[f"{t.name}, {t.case}" for t in TRICKS])
def test_every_trick_can_be_switched_off(number: int) -> None:
    command = [sys.executable, "-m", "bench.patched_server", str(number), "server", "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    assert "--busy-poll-us" in done.stdout


def test_every_trick_has_a_case() -> None:
    assert {trick.case for trick in TRICKS} <= set(CASES)


@pytest.mark.parametrize(
    ("figure", "with_it", "without", "gain", "verdict"),
    [
        ("requests/s", [150, 151, 149, 150, 152], [100, 101, 99, 100, 102], 50, "pays"),
        ("CPU µs per request", [50, 51, 49, 50, 52], [100, 101, 99, 100, 102], 100, "pays"),
        ("requests/s", [105, 106, 104, 105, 107], [100, 101, 99, 100, 102], 5, "below 10 %"),
        ("requests/s", [150, 90, 200, 95, 160], [100, 180, 60, 170, 90], 50, "inside the spread"),
    ],
)
def test_a_trick_pays_if_it_gains_ten_percent_outside_the_spread(
    figure: str, with_it: list[float], without: list[float], gain: int, verdict: str
) -> None:
    comparison = Comparison(TRICKS[0], figure, with_it, without)
    assert round(comparison.gain_percent) == gain
    assert comparison.verdict() == verdict
    assert f"| +{gain} % | {verdict} |" in table([comparison])
