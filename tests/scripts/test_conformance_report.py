"""docs/conformance.md shows every case of the suite, and every real agent."""

from __future__ import annotations

import ast

from scripts.docs_pages import conformance_report

from tests.real_agents.recipes import RECIPES


def test_the_page_has_the_cases_of_the_suite_and_no_others() -> None:
    _, sections = conformance_report.published()
    shown = set(conformance_report.results_on_page(sections))
    cases = {
        (path.stem, node.name)
        for path in conformance_report.SUITE.rglob("test_*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }
    assert shown == cases, "run scripts/conformance ours TOPIC, then scripts/conformance reference TOPIC"


def test_writing_the_page_keeps_what_was_not_run_again() -> None:
    _, sections = conformance_report.published()
    written = conformance_report.page({}, {})
    assert all(section in written for section in sections.values())


def test_the_page_has_every_agent_of_the_matrix() -> None:
    _, sections = conformance_report.published()
    rows = [line.split(" | ") for line in sections["Real agents"].splitlines() if line.startswith("| ")]
    assert {row[0].strip("| ") for row in rows} - {"agent"} == set(RECIPES)
