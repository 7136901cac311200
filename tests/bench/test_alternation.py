"""Compared servers are measured alternately and compared round by round."""

from __future__ import annotations

from collections.abc import Iterator

from bench.results.measurements import Measurements
from bench.run import alternate


def test_the_servers_alternate_step_by_step() -> None:
    seen: list[str] = []

    def steps(name: str, count: int) -> Iterator[None]:
        for step in range(count):
            seen.append(f"{name}{step}")
            yield

    alternate([steps("a", 2), steps("b", 3)])
    assert seen == ["a0", "b0", "a1", "b1", "b2"]


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_their_values() -> None:
    measurements = Measurements()
    # The machine becomes slower and slower; the ratio of the two does not change.
    for speed in (100.0, 50.0, 10.0):
        measurements.add("x", "ours", 2 * speed)
        measurements.add("x", "reference", speed)
    measurements.add("x", "ours", 1.0)  # a round that was cut off has no counterpart
    assert measurements.ratio("x", "ours", "reference") == 2.0
    assert measurements.ratio("x", "ours", "unknown") is None
