"""The progress bar of a batch: rate, failures, cost and the time left."""

from __future__ import annotations

import sys
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from sandbox_agent.rollouts.tally import Tally


class ProgressBar:
    """On stderr; without a terminal it shows nothing until the batch ends."""

    def __init__(self, total: int | None, already: int) -> None:
        console = Console(stderr=True)
        self._is_shown = sys.stderr.isatty()
        self._bar = Progress(
            TextColumn("rollouts"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[figures]}"),
            TimeRemainingColumn(),
            console=console,
            disable=not self._is_shown,
        )
        self._task = self._bar.add_task("", total=total, completed=already, figures="")

    def __enter__(self) -> ProgressBar:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def show(self, tally: Tally, elapsed_s: float) -> None:
        if self._is_shown:
            self._bar.update(self._task, advance=1, figures=describe(tally, elapsed_s))


def describe(tally: Tally, elapsed_s: float) -> str:
    rate = tally.done / elapsed_s if elapsed_s > 0 else 0.0
    return f"{rate:.1f}/s  passed {tally.pass_rate:.0%}  failed {tally.failed}  ${tally.cost_usd:.2f}"
