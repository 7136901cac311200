"""How a secret is shown: enough to recognise it, never enough to use it."""

from __future__ import annotations

_SHOWN_FROM = 20
"""Shorter secrets are hidden whole: four characters of them would tell too much."""


def redacted(secret: str) -> str:
    """The secret with its middle, or all of it, left out."""
    return f"{secret[:3]}...{secret[-4:]}" if len(secret) >= _SHOWN_FROM else "***"
