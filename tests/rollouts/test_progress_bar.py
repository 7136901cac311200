"""The progress bar of a batch on terminals of several widths, and on a pipe."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.pseudo_terminal import output_on_terminal

SCRIPT = """
import sys
from sandbox_agent.rollouts.progress_bar import ProgressBar
from sandbox_agent.rollouts.tally import Tally

total, tally = eval(sys.argv[1]), Tally()
with ProgressBar(total, already=2) as bar:
    for tally.done in range(1, 4):
        tally.passed += 1
        bar.show(tally, elapsed_s=2.0 * tally.done)
"""
FIGURES = "0.5/s  passed 100%  failed 0  $0.00"


def _last_line(total: int | None, columns: int) -> str:
    shown = output_on_terminal(SCRIPT, str(total), columns=columns)
    return shown.split("\r\x1b[?25l")[-1].split("\x1b")[0].rstrip()


@pytest.mark.clause("rollouts-cli")
def test_position_counts_earlier_rows_and_time_left_does_not() -> None:
    assert _last_line(9, 80) == f"rollouts  #####-----  5/9  {FIGURES}  0:00:08"


@pytest.mark.clause("rollouts-cli")
def test_batch_of_unknown_size_shows_count_and_figures() -> None:
    assert _last_line(None, 80) == f"rollouts  5  {FIGURES}"


@pytest.mark.clause("rollouts-cli")
@pytest.mark.parametrize("total", [9, None])
def test_line_is_cut_to_the_terminal(total: int | None) -> None:
    line = _last_line(total, 50)
    assert len(line) < 50 and "passed 100%" in line


@pytest.mark.clause("rollouts-cli")
@pytest.mark.parametrize("total", ["9", "None"])
def test_a_pipe_gets_nothing(total: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, total], capture_output=True, timeout=30, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")
