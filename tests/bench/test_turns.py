"""What is compared is measured side by side, and compared round by round."""

from __future__ import annotations

from collections.abc import Iterator

from bench.ledger import Ledger
from bench.run import _take_turns


def test_the_contenders_take_turns_step_by_step() -> None:
    seen: list[str] = []

    def steps(name: str, count: int) -> Iterator[None]:
        for step in range(count):
            seen.append(f"{name}{step}")
            yield

    _take_turns([steps("a", 2), steps("b", 3)])
    assert seen == ["a0", "b0", "a1", "b1", "b2"]


def test_a_ratio_is_the_median_of_the_rounds_and_not_of_their_values() -> None:
    ledger = Ledger()
    # The machine becomes slower and slower; the ratio of the two does not change.
    for speed in (100.0, 50.0, 10.0):
        ledger.add("x", "ours", 2 * speed)
        ledger.add("x", "reference", speed)
    ledger.add("x", "ours", 1.0)  # a round that was cut off has no partner
    assert ledger.ratio("x", "ours", "reference") == 2.0
    assert ledger.ratio("x", "ours", "nobody") is None
