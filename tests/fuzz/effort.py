"""How hard the generators try: the same few hundred examples at each run, thousands of new ones in full."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

FULL = os.environ.get("SANDBOX_AGENT_TEST_FULL") == "1"
FUZZ = settings(
    max_examples=5000 if FULL else 500,
    derandomize=not FULL,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
