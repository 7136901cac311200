"""Who a process is: its id and the moment it was started.

The kernel hands process ids out again, so an id alone says nothing. Together with the start time and the
boot it belongs to, it names one process for ever.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ProcessIdentity:
    pid: int
    born: str
    """Boot and start time, as far as the system tells; never empty."""

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """Who has this process id now; None if nobody does."""
        born = _born(pid)
        return cls(pid, born) if born else None

    @classmethod
    def parse(cls, text: str) -> ProcessIdentity | None:
        """What `write` wrote; None if it was not us who wrote it."""
        lines = text.splitlines()
        if len(lines) != 2 or not lines[0].isdigit() or not lines[1]:
            return None
        return cls(int(lines[0]), lines[1])

    def __str__(self) -> str:
        return f"{self.pid}\n{self.born}\n"

    def is_alive(self) -> bool:
        return _born(self.pid) == self.born

    def send(self, number: signal.Signals) -> None:
        """Signal exactly this process; nothing happens if it has gone."""
        if sys.platform == "linux":
            self._send_through_descriptor(number)
        elif self.is_alive():
            os.kill(self.pid, number)

    def _send_through_descriptor(self, number: signal.Signals) -> None:
        # The descriptor holds on to one process: between check and signal its id cannot change hands.
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return
        try:
            if self.is_alive():
                signal.pidfd_send_signal(descriptor, number)
        except ProcessLookupError:
            return
        finally:
            os.close(descriptor)


def _born(pid: int) -> str:
    if sys.platform != "linux":
        asked = subprocess.run(  # noqa: S603 - fixed command, the only argument is a number
            ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return asked.stdout.strip()
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
    # Field 22 of proc(5); a zombie (Z) has ended already.
    return "" if stat[0] in "ZX" else f"{boot}/{stat[19]}"
