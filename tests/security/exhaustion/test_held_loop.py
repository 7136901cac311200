"""While an agent writes, other clients are answered: nothing that it writes holds the event loop for long.

Wall-clock times, which only a quiet machine keeps to; `tests/bridge/test_output_publisher.py` measures the
processor time of each step in every run.
"""

from __future__ import annotations

from pathlib import Path
from statistics import median

import pytest

from tests.security.exhaustion.held_loop import ANSWER, OUTPUTS, ROUNDS, longest_answer_ms
from tests.support.server_process import ServerProcess, place_launcher


@pytest.mark.serial
@pytest.mark.timeout(300)
@pytest.mark.clause("security-L7")
@pytest.mark.parametrize("kind", [pytest.param(kind, marks=pytest.mark.full) for kind in OUTPUTS])
def test_other_clients_are_answered_while_an_agent_writes(start_server, tmp_path: Path, kind: str) -> None:
    """The median of five rounds: longest answer to any of the requests that are sent every millisecond."""
    output, limit_ms = OUTPUTS[kind]
    written = tmp_path / "output"
    written.write_bytes(output + ANSWER)
    server: ServerProcess = start_server(token=None)
    place_launcher(server.data_home, "pi", f"#!/bin/sh\nread -r line\ncat {written}\nread -r line\n")
    longest_answer_ms(server, "first")  # loads what the first messages load
    longest = [longest_answer_ms(server, f"x{number}") for number in range(ROUNDS)]
    assert median(longest) <= limit_ms, longest
