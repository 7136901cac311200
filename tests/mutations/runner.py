"""Break each behaviour in a copy of the source, run the named test against it, write docs/mutations.md.

A mutation is noticed when the test fails although the broken server starts; a server that does not start
proves nothing and is reported as such.
"""

from __future__ import annotations

import enum
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mutations.mutation import ROOT, Mutation, all_mutations

PAGE = ROOT / "docs" / "mutations.md"
HEAD = """# Mutation tests

Each row is one promise of the server that a small edit breaks in a copy of the source. The edit is placed by
the name of a class, function or constant (`tests/mutations/mutations.toml`). The named test then runs against
the broken server; "noticed" means that the test failed. `scripts/mutations` writes this page.

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
    # The application comes first because it loads the modules in the same order as the command.
    start = [sys.executable, "-c", f"import sandbox_agent.http.app, {mutation.module}"]
    if subprocess.run(start, env=environment, check=False, capture_output=True).returncode != 0:
        return Outcome.DOES_NOT_START
    options = ["-q", "-x", "--tb=no", "-p", "no:cacheprovider", "--timeout=40"]
    test = mutation.test_id
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


def main(words: Sequence[str]) -> int:
    """Try all mutations, or those whose description or test has one of the words."""
    rows, missed = [], 0
    for mutation in all_mutations():
        if words and not any(word in f"{mutation.breaks} {mutation.test}" for word in words):
            continue
        with tempfile.TemporaryDirectory() as directory:
            outcome = outcome_of(mutation, Path(directory))
        missed += outcome is not Outcome.NOTICED
        print(f"{outcome.value:15} {mutation.decision:3} {mutation.breaks}", flush=True)
        rows.append(f"| {mutation.decision} | {mutation.breaks} | `{mutation.test}` | {outcome.value} |")
    print(f"{len(rows) - missed} of {len(rows)} noticed")
    if not words:
        PAGE.write_text(HEAD + "\n".join(rows) + "\n", "utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)}")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
