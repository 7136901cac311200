"""Ports of servers under test: two test processes never get the same one."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.free_port import BLOCK, free_port

pytestmark = pytest.mark.process
ROOT = Path(__file__).parents[2]
PROGRAM = "from tests.support.free_port import free_port; print(free_port(), flush=True); input()"


def test_processes_have_different_ports_and_one_in_use_is_left_out() -> None:
    mine = free_port()
    others = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        ports = [int(other.stdout.readline()) for other in others if other.stdout is not None]
    finally:
        for other in others:
            other.communicate("\n", timeout=20)
    assert len({port // BLOCK for port in [mine, *ports]}) == 3
    seen = [free_port() for _ in range(BLOCK)]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", seen[0]))
        taken.listen()
        assert seen[0] not in [free_port() for _ in range(BLOCK)]
