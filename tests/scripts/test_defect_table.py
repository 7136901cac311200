"""Each defect of the reference has a case that this server passes, and the page shows it."""

from __future__ import annotations

from scripts.docs_pages import conformance_report
from scripts.docs_pages.defect_table import cases_of_defects, defect_section, read_defects


def test_every_defect_has_a_case_and_every_mark_names_a_defect() -> None:
    assert set(cases_of_defects()) == set(read_defects())


def test_cases_of_defects_run_against_the_reference_too() -> None:
    suite = conformance_report.SUITE
    for topic, name in {case for cases in cases_of_defects().values() for case in cases}:
        (source,) = suite.rglob(f"{topic}.py")
        decorators = source.read_text("utf-8").partition(f"def {name}(")[0]
        assert "pytest.mark.ours" not in decorators.rpartition("\ndef ")[2], (topic, name)


def test_the_page_has_the_results_of_every_case_and_this_server_passes_all() -> None:
    _, sections = conformance_report.published()
    results = conformance_report.results_on_page(sections)
    shown = {case: results.get(case) for cases in cases_of_defects().values() for case in cases}
    assert not [
        case for case, cells in shown.items() if cells is None or cells[0] != "yes" or cells[1] == "-"
    ]
    page = conformance_report.PAGE.read_text("utf-8")
    assert page.endswith(defect_section(results)), "run scripts/conformance to renew the page"
