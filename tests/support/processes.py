"""Find living processes in /proc, by a mark in the environment or by pid and start time.

Every server of a test carries a mark in its environment, which its children inherit. A child that drops its
environment is identified by the pid and start time that it reported at its start. A pid alone is not enough,
because the kernel reuses it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tests.support.polling import wait_until

MARK_VARIABLE = "SANDBOX_AGENT_TEST_MARK"


def _stat_fields(pid: int) -> list[bytes] | None:
    try:
        return Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None


def is_alive(process: dict[str, int]) -> bool:
    """`process` is `{"pid", "started"}` as the scripted agent reports it; a zombie is not alive."""
    fields = _stat_fields(process["pid"])
    return fields is not None and int(fields[19]) == process["started"] and fields[0] not in (b"Z", b"X")


def marked(mark: str) -> dict[int, str]:
    """Living processes whose environment carries the mark, with their command lines."""
    found = {}
    needle = f"{MARK_VARIABLE}={mark}".encode()
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            if needle in Path(f"/proc/{entry}/environ").read_bytes().split(b"\0"):
                command = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ")
                found[int(entry)] = command.decode(errors="replace")
        except OSError:
            continue
    return found


def with_words(*words: str) -> list[int]:
    """Living processes whose command line contains all these words."""
    found = []
    for entry in os.listdir("/proc"):
        with suppress(OSError):
            if entry.isdigit() and (command := Path(f"/proc/{entry}/cmdline").read_bytes()):
                if all(word.encode() in command for word in words):
                    found.append(int(entry))
    return found


def unique_sleep() -> str:
    """A number of seconds for `sleep` that no other process uses."""
    return f"{600 + secrets.randbelow(1000)}.{secrets.randbelow(10**9):09d}"


def children_of(parent: int) -> set[int]:
    """Children of `parent`, dead ones that were not collected included."""
    found = set()
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat_fields(int(entry))) is not None:
            if int(fields[1]) == parent:
                found.add(int(entry))
    return found


def zombies_of(parent: int) -> list[int]:
    """Children of `parent` that have ended and were not collected."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit() and (fields := _stat_fields(int(entry))) is not None:
            if fields[0] == b"Z" and int(fields[1]) == parent:
                found.append(int(entry))
    return found


def wait_until_dead(processes: Iterable[dict[str, int]], timeout: float = 5.0) -> None:
    expected = list(processes)
    wait_until(
        lambda: not any(is_alive(process) for process in expected),
        timeout,
        f"the end of {expected}; alive: {[process for process in expected if is_alive(process)]}",
    )


def open_descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_bytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmRSS")
