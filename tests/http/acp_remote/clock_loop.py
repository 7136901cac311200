"""An event loop whose time the test sets."""

from __future__ import annotations

import asyncio


class ClockLoop(asyncio.SelectorEventLoop):
    now = 0.0

    def time(self) -> float:
        return self.now
