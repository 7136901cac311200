"""The defects of the reference, with the tests that show them and what both servers do.

The texts are in tests/conformance/defects.toml, the ids are on the tests (`@pytest.mark.defect`), and the
results are those of the page that `scripts/conformance` writes, of which this table is a part.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from scripts.docs_pages.clause_table import ROOT, find_marks

TITLE = "Defects of the reference"
HEAD = f"""
## {TITLE}

Defects that the reference was found to have in processes and terminals. Each has one or more cases above,
which this server passes.

| id | defect | case | this server | reference |
|---|---|---|---|---|
"""


def read_defects(root: Path = ROOT) -> dict[str, str]:
    return tomllib.loads((root / "tests" / "conformance" / "defects.toml").read_text("utf-8"))


def cases_of_defects() -> dict[str, list[tuple[str, str]]]:
    """The topic and the name of the test of each case, by the id of the defect."""
    cases: dict[str, list[tuple[str, str]]] = {}
    for defect, test in find_marks(mark="defect"):
        file, _, name = test.partition("::")
        cases.setdefault(defect, []).append((Path(file).stem, name))
    return cases


def defect_section(results: Mapping[tuple[str, str], tuple[str, str]]) -> str:
    """`results` are the cells of both servers by the topic and the name of the test."""
    cases = cases_of_defects()
    rows = []
    for defect, text in read_defects().items():
        for number, (topic, name) in enumerate(cases[defect]):
            ours, reference = results.get((topic, name), ("-", "-"))
            head = f"| {defect} | {text} |" if number == 0 else "| | |"
            case = name.removeprefix("test_").replace("_", " ")
            rows.append(f"{head} {case} | {ours} | {reference} |\n")
    return HEAD + "".join(rows)
