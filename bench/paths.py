"""The benchmark's paths and processors.

Downloads and builds are under the git-ignored `.cache/`, results under `bench/out/`. The server has one
processor to itself; load programs and agents share another.
"""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache"
RESULTS = ROOT / "bench" / "out"
DOCS_PAGE = ROOT / "docs" / "performance.md"
DOCS_CHART = ROOT / "docs" / "performance.png"

_processors = sorted(os.sched_getaffinity(0))
SERVER_CPU = _processors[0]
LOAD_CPU = _processors[-1]
