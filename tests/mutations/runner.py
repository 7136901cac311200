"""Breaks each behaviour in a copy of the source, runs the named test against it, writes docs/mutations.md.

A mutation is noticed when the test fails although the broken server starts; one that does not even start
proves nothing and is reported as such.
"""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutations.mutation import ROOT, Mutation, all_mutations

PAGE = ROOT / "docs" / "mutations.md"
HEAD = """# Broken on purpose

Each row is one promise of the server, broken by a small edit in a copy of the source
(`tests/mutations/mutations.toml`); the named test of `tests/conformance/` was then run against the broken
server. "noticed" means that it failed. This page is written by `scripts/mutations`.

| decision | what was broken | test | result |
|---|---|---|---|
"""


class Outcome(enum.Enum):
    NOTICED = "noticed"
    MISSED = "MISSED"
    DOES_NOT_START = "DOES NOT START"
    DOES_NOT_FIT = "DOES NOT FIT"


def outcome_of(mutation: Mutation, directory: Path) -> Outcome:
    try:
        path = mutation.break_copy(directory)
    except ValueError:
        return Outcome.DOES_NOT_FIT
    environment = {**os.environ, "PYTHONPATH": str(path), "PYTHONDONTWRITEBYTECODE": "1"}
    start = [sys.executable, "-c", "import sandbox_agent.http.server, sandbox_agent.bridge.instances"]
    if subprocess.run(start, env=environment, check=False, capture_output=True).returncode != 0:
        return Outcome.DOES_NOT_START
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "--timeout=40"]
    test = f"tests/conformance/{mutation.test}"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, test],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode == 1 and f"FAILED {test}" in done.stdout:
        return Outcome.NOTICED
    return Outcome.DOES_NOT_START if done.returncode == 1 else Outcome.MISSED


def main() -> int:
    rows, missed = [], 0
    for mutation in all_mutations():
        with tempfile.TemporaryDirectory() as directory:
            outcome = outcome_of(mutation, Path(directory))
        missed += outcome is not Outcome.NOTICED
        print(f"{outcome.value:15} {mutation.decision:3} {mutation.breaks}", flush=True)
        rows.append(f"| {mutation.decision} | {mutation.breaks} | `{mutation.test}` | {outcome.value} |")
    PAGE.write_text(HEAD + "\n".join(rows) + "\n", "utf-8")
    print(f"{len(rows) - missed} of {len(rows)} noticed; wrote {PAGE.relative_to(ROOT)}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
