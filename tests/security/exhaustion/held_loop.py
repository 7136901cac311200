"""What an agent may write, and how long other clients wait for an answer meanwhile."""

from __future__ import annotations

import subprocess
import sys

from tests.support.server_process import ServerProcess

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


def longest_answer_ms(server: ServerProcess, server_id: str) -> float:
    command = [sys.executable, "-m", "tests.security.exhaustion.health_probe", str(server.port)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdin is not None and probe.stdout is not None
        assert probe.stdout.readline() == "ready\n"
        server.acp.call(server_id, "go", request_id=1, agent="pi", timeout=60)
        output, _ = probe.communicate("", timeout=30)
    assert server.acp.delete(server_id).status == 204
    return float(output)
