"""The settings of hypothesis for generated input; tests/conftest.py sets them for small and full runs."""

from __future__ import annotations

from hypothesis import settings

FUZZ = settings.get_profile("fuzz")
