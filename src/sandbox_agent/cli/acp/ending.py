"""The end of `sandbox-agent acp`: a signal, the end of the editor, or a failure. The first request decides.

`descriptor` becomes readable with the first request, so that a poll can wait for it beside other things.
"""

from __future__ import annotations

import os
import select
import signal

# How long the agent may go on after the editor has closed stdin: what it asked for may still be answered.
EDITOR_END_GRACE_S = 5.0
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Ending:
    def __init__(self) -> None:
        """Ends at SIGTERM, SIGHUP and SIGINT from now on."""
        self.descriptor, self._write_end = os.pipe()
        self.exit_code: int | None = None
        for number in _SIGNALS:
            signal.signal(number, lambda *_: self.request(0))

    def request(self, exit_code: int) -> None:
        """End the program; from any thread."""
        if self.exit_code is None:
            self.exit_code = exit_code
            os.write(self._write_end, b".")

    def release(self) -> None:
        """Let signals end the process at once again."""
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_DFL)

    def wait(self, seconds: float) -> bool:
        """Whether the end was requested, now or within this time."""
        return bool(select.select((self.descriptor,), (), (), seconds)[0])
