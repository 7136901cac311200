"""Progress of a running install.

Listeners are plain functions called on the event loop; they must not block. `percent` is an estimate from
the known size of the agent and never decreases.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    step: str
    """`wait` (for another process), `node`, `python`, `packages`, `download`, `verify`, `done`."""
    message: str
    bytes: int = 0
    """On disk so far."""
    percent: int | None = None


ProgressListener = Callable[[Progress], None]
