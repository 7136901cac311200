"""While an agent writes, other clients are answered: nothing that it writes holds the event loop for long.

Wall-clock times, which only a quiet machine keeps to; `tests/bridge/test_output_publisher.py` measures the
processor time of each step in every run.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median

import pytest

from tests.support.server_process import ServerProcess, place_launcher

MIB = 1 << 20
ROUNDS = 5
ANSWER = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'


# What stands before, in and after the value of a notification; all but its middle once.
VALUES = {
    "plain": (b'"', b"x", b'"'),
    "not ASCII": (b'"', "€".encode(), b'"'),
    "escapes": (b'"', b"\\n", b'"'),
    "lone surrogates": (b'"', b"\\ud800", b'"'),
    "numbers": (b"[", b"1,", b"1]"),
    "brackets": (b"[", b"[],", b"1]"),
    "strings": (b"[", b'"",', b"1]"),
}


def notification(kind: str, size: int) -> bytes:
    """One line of about `size` bytes."""
    before, middle, after = VALUES[kind]
    line = b'{"jsonrpc":"2.0","method":"a","params":{"value":%b%b%b}}\n'
    return line % (before, middle * ((size - len(line)) // len(middle)), after)


OUTPUTS = {
    **{f"a line of 16 MB, {kind}": (notification(kind, 16 * MIB), 20.0) for kind in VALUES},
    "16 MB in lines of 64 kB": (notification("plain", 64 * 1024) * 256, 20.0),
    "16 MB of short lines": (b'{"jsonrpc":"2.0","method":"a"}\n' * (16 * MIB // 31), 20.0),
    "16 MB of dense lines of 1 MB": (notification("brackets", MIB) * 16, 20.0),
    "lines that are not JSON": (b"x\n" * 50_000, 20.0),
    **{f"the longest line, {kind}": (notification(kind, 64 * MIB), 100.0) for kind in VALUES},
}


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


def longest_answer_ms(server: ServerProcess, server_id: str) -> float:
    command = [sys.executable, "-m", "tests.security.health_probe", str(server.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdin is not None and probe.stdout is not None
        assert probe.stdout.readline() == "ready\n"
        server.acp.call(server_id, "go", request_id=1, agent="pi", timeout=60)
        output, _ = probe.communicate("", timeout=30)
    assert server.acp.delete(server_id).status == 204
    return float(output)
