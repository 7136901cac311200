"""Markers that need not be repeated on each test: those of its folder or file, and those of its fixtures."""

from __future__ import annotations

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
# By the beginning of the path below tests/.
PATH_MARKS: dict[str, tuple[str, ...]] = {
    "agents/adapters/": ("process", "node", "network"),
    "agents/install/": ("process", "node", "network"),
    "bench/": ("process", "gcc", "serial"),
    "bench/test_smoke.py": ("node", "network"),
    "browser/": ("process", "chromium"),
    "browser/page/test_performance.py": ("serial",),
    "chaos/": ("process", "root"),
    "cli/": ("process",),
    "cli/server/test_lean_start.py": ("imports",),
    "conformance/": ("process",),
    "deploy/": ("process",),
    "docs/": ("process",),
    "examples/": ("process",),
    "firefox/": ("process", "firefox"),
    "fuzz/": ("process", "root"),
    "http/endpoints/": ("process",),
    "integrations/": ("process",),
    "packaging/": ("process",),
    "real_agents/": ("process", "node", "network"),
    "reference_clients/": ("process", "node", "network"),
    "remote_clients/": ("process", "node", "network"),
    "rollouts/": ("process",),
    "sdk/providers/": ("process",),
    "sdk/stores/test_postgres_database.py": ("postgres",),
    "sdk/test_reference.py": ("process", "node", "network"),
    "sdk/test_public_api.py": ("process",),
    "security/": ("process",),
    "testing/": ("process",),
}
FIXTURE_MARKS = {"own_server": ("process",), "postgres_dsn": ("postgres",)}


def implied_marks(item: pytest.Item) -> set[str]:
    marks = {mark for name in getattr(item, "fixturenames", ()) for mark in FIXTURE_MARKS.get(name, ())}
    if TESTS in item.path.parents:
        below = item.path.relative_to(TESTS).as_posix()
        marks |= {mark for start, some in PATH_MARKS.items() if below.startswith(start) for mark in some}
    return marks
