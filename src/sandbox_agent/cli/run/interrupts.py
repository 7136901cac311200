"""SIGTERM ends a command as Ctrl-C does; schedulers send it when a time limit has passed."""

from __future__ import annotations

import signal


def interrupt_on_sigterm() -> None:
    """asyncio cancels its main task at SIGINT, so sandboxes end and files are written; exit code 130."""
    signal.signal(signal.SIGTERM, lambda *_: signal.raise_signal(signal.SIGINT))
