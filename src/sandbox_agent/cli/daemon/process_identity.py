"""The identity of a process: its id and its start time.

The kernel reuses process ids. Together with the start time and the boot id, a process id names exactly one
process.
"""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    pid: int
    started: str
    """Boot id and start time; never empty."""

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """The process that has this id now; None if there is none."""
        started = _start_time(pid)
        return cls(pid, started) if started else None

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity | None:
        """The identity from the text of `str()`; None for any other text."""
        lines = text.splitlines()
        if len(lines) != 2 or not lines[0].isdigit() or not lines[1]:
            return None
        return cls(int(lines[0]), lines[1])

    def __str__(self) -> str:
        return f"{self.pid}\n{self.started}\n"

    def is_alive(self) -> bool:
        return _start_time(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        """Signal exactly this process; nothing happens if it has exited."""
        # The descriptor refers to one process: its id cannot be reused between check and signal.
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        except (OSError, AttributeError):
            # No such descriptors in this kernel, sandbox or Python.
            if self.is_alive():
                os.kill(self.pid, number)
            return
        try:
            if self.is_alive():
                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return
        finally:
            os.close(descriptor)


def _start_time(pid: int) -> str:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    # Field 22 of proc(5); a zombie (Z) has ended already.
    return "" if stat[0] in "ZX" else f"{boot}/{stat[19]}"
