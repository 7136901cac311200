"""The processes of an agent: each agent of the matrix has a HOME of its own, which its children inherit."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def with_home(home: Path) -> dict[int, str]:
    """Living processes whose HOME is `home`, with their command lines."""
    needle = f"HOME={home}".encode()
    return {
        pid: command.replace(b"\0", b" ").decode("utf-8", "replace").strip()
        for pid, command in _commands()
        if needle in _read(pid, "environ").split(b"\0")
    }


def running(*words: str) -> bool:
    """Whether a process with exactly these arguments runs."""
    expected = b"\0".join(word.encode() for word in words)
    return any(command.rstrip(b"\0") == expected for _, command in _commands())


def resident_mb(tree: dict[int, str]) -> int:
    pages = sum(int((_read(pid, "statm").split() or [b"0", b"0"])[1]) for pid in tree)
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_000_000


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _commands() -> Iterator[tuple[int, bytes]]:
    for entry in os.listdir("/proc"):
        # Zombies and kernel threads have no command line.
        if entry.isdigit() and (command := _read(int(entry), "cmdline")):
            yield int(entry), command


def _read(pid: int, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{pid}/{name}").read_bytes()
    return b""
