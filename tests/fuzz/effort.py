"""The settings of hypothesis for generated input; tests/conftest.py sets them for small and full runs."""

from __future__ import annotations

from hypothesis import settings

FUZZ = settings.get_profile("fuzz")
SAMPLED = settings(FUZZ, max_examples=200 if FUZZ.derandomize else FUZZ.max_examples)
"""For examples that take long: fewer of them in a small run."""
