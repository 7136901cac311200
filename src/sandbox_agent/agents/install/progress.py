"""What an install tells while it runs.

Listeners are plain functions called on the event loop; they must not block. `percent` is an estimate from
the known size of the agent and never goes back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    step: str
    """`wait` (somebody else installs), `node`, `python`, `packages`, `download`, `verify` or `done`."""
    message: str
    bytes: int = 0
    """On disk so far."""
    percent: int | None = None


ProgressListener = Callable[[Progress], None]
