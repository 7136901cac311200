"""The progress bar of a batch: rate, failures, cost and the time left."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable
from datetime import timedelta
from itertools import repeat
from types import TracebackType

import click

from sandbox_agent.rollouts.tally import Tally
from sandbox_agent.terminal_text import cut

_MAX_BAR_WIDTH = 30
# Of label, position, figures and time left of a batch of 10,000 tasks, and the spaces between them.
_TEXT_WIDTH = 70


class ProgressBar:
    """On stderr; without a terminal it shows nothing until the batch ends.

    A batch of unknown size has no bar, only the number of rollouts and the figures.
    """

    def __init__(self, total: int | None, already: int) -> None:
        self._total = total
        self._already = already
        columns = shutil.get_terminal_size().columns
        bar_width = max(5, min(_MAX_BAR_WIDTH, columns - _TEXT_WIDTH)) if total is not None else 0
        room = columns - bar_width - len(f"rollouts      {total}/{total} ")
        endless: Iterable[str] | None = repeat("") if total is None else None
        self._bar = click.progressbar(
            endless,
            length=total,
            label="rollouts",
            bar_template="%(label)s  %(info)s" if total is None else "%(label)s  %(bar)s  %(info)s",
            empty_char="-",
            width=bar_width or 1,
            show_pos=True,
            # click counts the tasks that had a row already as done in the time of this batch.
            show_eta=False,
            item_show_func=lambda figures: cut(figures or "", room),
            file=sys.stderr,
            hidden=not sys.stderr.isatty(),
        )

    def __enter__(self) -> ProgressBar:
        self._bar.__enter__()
        self._bar.update(self._already)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.__exit__(kind, error, trace)

    def show(self, tally: Tally, elapsed_s: float) -> None:
        self._bar.update(1, describe(tally, elapsed_s, self._left(tally)))

    def _left(self, tally: Tally) -> int | None:
        return None if self._total is None else max(0, self._total - self._already - tally.done)


def describe(tally: Tally, elapsed_s: float, left: int | None = None) -> str:
    """The figures of a batch, and the time that `left` more rollouts take at the same rate."""
    rate = tally.done / elapsed_s if elapsed_s > 0 else 0.0
    time_left = f"  {timedelta(seconds=round(left / rate))}" if left is not None and rate else ""
    return (
        f"{rate:.1f}/s  passed {tally.pass_rate or 0.0:.0%}  failed {tally.failed}"
        f"  ${tally.cost_usd:.2f}{time_left}"
    )
