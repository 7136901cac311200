"""SIGTERM ends a command as Ctrl-C does: schedulers and frameworks send it to what takes too long."""

from __future__ import annotations

import signal


def interrupt_on_sigterm() -> None:
    """asyncio cancels its main task at SIGINT, so sandboxes end and files are written; exit code 130."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
