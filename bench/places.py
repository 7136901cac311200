"""Where the benchmark keeps its things, and which processor does what.

Everything downloaded or built goes under the git-ignored `.cache/`, results under `bench/out/`. The server
has one processor to itself; load programs and agents share the next one.
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
