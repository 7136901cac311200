"""Each clause of tests/clauses.toml has a test that carries its mark, and each mark names a clause.

The marks are read from the source of all tests, so a run of a single file checks the same as a run of all.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from scripts.docs_pages.clause_table import PAGE, ROOT, Mark, find_marks, page, read_sections


def clause_ids() -> list[str]:
    return [clause for clauses in read_sections().values() for clause in clauses]


def test_every_clause_has_a_text() -> None:
    assert not [clause for texts in read_sections().values() for clause, text in texts.items() if not text]


def test_no_clause_is_listed_twice() -> None:
    assert not [clause for clause, count in Counter(clause_ids()).items() if count > 1]


def test_every_clause_has_a_test() -> None:
    unproven = sorted(set(clause_ids()) - {mark.clause for mark in find_marks()})
    assert not unproven


def test_every_mark_names_a_clause() -> None:
    listed = set(clause_ids())
    unknown = [mark for mark in find_marks() if mark.clause not in listed]
    assert not unknown


def test_every_marked_function_is_collected_by_pytest() -> None:
    stray = []
    for mark in find_marks():
        file, *names = mark.test.split("::")
        if ".test.ts: " in file:
            continue  # The build of the page collects every *.test.ts.
        if not Path(file).name.startswith("test_") or not all(
            name.lower().startswith("test") for name in names
        ):
            stray.append(mark)
    assert not stray


def test_the_table_of_clauses_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(read_sections(), find_marks()), "run scripts/clauses to renew it"


def test_every_comment_with_clauses_in_the_unit_tests_of_the_page_belongs_to_a_test() -> None:
    found = [mark for mark in find_marks() if ".test.ts: " in mark.test]
    named = [
        clause
        for path in (ROOT / "inspector" / "tests").rglob("*.test.ts")
        for line in path.read_text("utf-8").splitlines()
        if line.startswith("// clauses:")
        for clause in line.removeprefix("// clauses:").split(",")
    ]
    assert sorted(mark.clause for mark in found) == sorted(clause.strip() for clause in named)


def test_marks_are_found_on_functions_methods_and_below_conditions(tmp_path: Path) -> None:
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_marked.py").write_text(
        '@pytest.mark.timeout(5)\n@pytest.mark.clause("a", "b")\nasync def test_one(): ...\n'
        'class TestTwo:\n    @pytest.mark.clause("b")\n    def test_method(self): ...\n'
        'if FULL:\n    @pytest.mark.clause("c")\n    def test_three(): ...\n'
        "def test_unmarked(): ...\n"
    )
    page_tests = tmp_path / "inspector" / "tests"
    page_tests.mkdir(parents=True)
    (page_tests / "one.test.ts").write_text(
        '// clauses: d, e\ntest("a title", () => {\n});\n'
        '// clauses: d\ntest.each([\n  ["x", 1],\n])("a title of %s", () => {});\n'
    )
    file = "tests/deep/test_marked.py"
    assert find_marks(tmp_path) == [
        Mark("a", f"{file}::test_one"),
        Mark("b", f"{file}::test_one"),
        Mark("b", f"{file}::TestTwo::test_method"),
        Mark("c", f"{file}::test_three"),
        Mark("d", "inspector/tests/one.test.ts: a title"),
        Mark("e", "inspector/tests/one.test.ts: a title"),
        Mark("d", "inspector/tests/one.test.ts: a title of %s"),
    ]
