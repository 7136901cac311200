"""The ablation: every trick can be switched off, and a comparison says whether a trick pays."""

from __future__ import annotations

import pytest
from bench.ablation.run import CASES, Comparison, server_of, table
from bench.ablation.tricks import TRICKS

from bench import programs


@pytest.mark.parametrize("number", range(len(TRICKS)), ids=[f"{t.name}, {t.case}" for t in TRICKS])
def test_server_without_a_trick_answers_requests(number: int) -> None:
    programs.build()
    with server_of(str(number)).running() as server:
        server.add_instances(["a"])
        assert server.load(server_id="a", bytes=200, ms=50)["per_second"] > 0


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
