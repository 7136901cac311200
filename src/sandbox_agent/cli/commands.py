"""The click side of the command line."""

from __future__ import annotations

from collections.abc import Sequence


def run(words: Sequence[str]) -> int:
    return 2
