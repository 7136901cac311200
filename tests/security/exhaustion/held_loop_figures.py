"""How long other clients wait at most while an agent writes, for each kind of output of `test_held_loop`.

`python -m tests.security.exhaustion.held_loop_figures` prints the medians of five rounds, within three
minutes. These are wall-clock times: only those of a machine that does nothing else say something about the
server.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from tests.security.exhaustion.held_loop import ANSWER, OUTPUTS, ROUNDS, longest_answer_ms
from tests.support.server_process import ServerProcess, place_launcher


def measure(server: ServerProcess, output: Path, kind: str) -> list[float]:
    output.write_bytes(OUTPUTS[kind][0] + ANSWER)
    longest_answer_ms(server, f"{kind} first")  # loads what the first such output loads
    return [longest_answer_ms(server, f"{kind} {number}") for number in range(ROUNDS)]


def main() -> int:
    begin, missed = time.monotonic(), 0
    with tempfile.TemporaryDirectory() as directory:
        output = Path(directory, "output")
        server = ServerProcess(Path(directory), token=None)
        try:
            place_launcher(server.data_home, "pi", f"#!/bin/sh\nread -r line\ncat {output}\nread -r line\n")
            server.ready()
            print(f"load of the machine: {os.getloadavg()[0]:.1f}")
            print("| output | median, ms | worst, ms | limit, ms |\n|---|---|---|---|")
            for kind, (_, limit_ms) in OUTPUTS.items():
                longest = measure(server, output, kind)
                missed += median(longest) > limit_ms
                row = f"| {kind} | {median(longest):.1f} | {max(longest):.1f} | {limit_ms:.0f} |"
                print(row + (" missed" if median(longest) > limit_ms else ""), flush=True)
        finally:
            server.end()
    print(f"{missed} missed; {time.monotonic() - begin:.0f} s")
    return missed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
