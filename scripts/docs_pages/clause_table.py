"""Write docs/clauses.md: each clause of tests/clauses.toml with the tests that prove it.

A test names its clauses in `@pytest.mark.clause("spec1-3.1-post", ...)`. This script reads the marks from the
syntax trees, so the table is complete even if a run collects few tests, and no test module is imported.
The unit tests of the page name theirs in a comment on the line before:
`// clauses: inspector-19, inspector-20`.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "clauses.md"
HEAD = """# Clauses

Each clause of the specifications, each decision and each promise, with the tests that prove it. The texts are
in `tests/clauses.toml`, the ids are on the tests (`@pytest.mark.clause`). `scripts/clauses` writes this page.
"""

# The comment with the clauses, and the title of the test that follows; a table of cases may stand before it.
PAGE_MARK = re.compile(
    r"^// clauses: (?P<ids>[\w., -]+)\ntest(?:\.each\(.*?\))?\(\s*\"(?P<title>[^\"]+)\",",
    re.MULTILINE | re.DOTALL,
)

# title of a section -> id -> text
Sections = dict[str, dict[str, str]]


class Mark(NamedTuple):
    clause: str
    test: str


def read_sections(file: Path = ROOT / "tests" / "clauses.toml") -> Sections:
    return tomllib.loads(file.read_text("utf-8"))


def find_marks(root: Path = ROOT, mark: str = "clause") -> list[Mark]:
    """The marks of all test files below `root`/tests; a test has the name that pytest gives it."""
    marks: list[Mark] = []
    for path in sorted((root / "tests").rglob("*.py")):
        text = path.read_text("utf-8")
        if f"mark.{mark}(" in text:
            tree, file = ast.parse(text), path.relative_to(root).as_posix()
            marks += _marks_of(tree, file, _ids_of_module(tree, mark), mark)
    if mark == "clause":
        marks += _marks_of_the_page(root)
    return marks


def _marks_of_the_page(root: Path) -> Iterator[Mark]:
    for path in sorted((root / "inspector" / "tests").rglob("*.test.ts")):
        name = path.relative_to(root).as_posix()
        for found in PAGE_MARK.finditer(path.read_text("utf-8")):
            yield from (Mark(one.strip(), f"{name}: {found['title']}") for one in found["ids"].split(","))


def _marks_of(scope: ast.AST, prefix: str, inherited: list[str], mark: str) -> Iterator[Mark]:
    for node in ast.iter_child_nodes(scope):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _marks_of(node, prefix, inherited, mark)
            continue
        name = f"{prefix}::{node.name}"
        own = [one for decorator in node.decorator_list for one in _ids_in(decorator, mark)]
        if not isinstance(node, ast.ClassDef) and node.name.startswith("test"):
            own += inherited
        yield from (Mark(one, name) for one in own)
        if isinstance(node, ast.ClassDef):
            yield from _marks_of(node, name, inherited, mark)


def _ids_of_module(tree: ast.Module, mark: str) -> list[str]:
    """The ids in `pytestmark`, which all tests of the module have."""
    return [
        one
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "pytestmark"
        for part in ast.walk(node.value)
        for one in _ids_in(part, mark)
    ]


def _ids_in(node: ast.AST, mark: str) -> list[str]:
    if isinstance(node, ast.Call) and ast.unparse(node.func) == f"pytest.mark.{mark}":
        return [ast.literal_eval(one) for one in node.args]
    return []


def page(sections: Sections, marks: list[Mark]) -> str:
    tests: dict[str, list[str]] = defaultdict(list)
    for clause, test in marks:
        tests[clause].append(test)
    return HEAD + "".join(_section(title, clauses, tests) for title, clauses in sections.items())


def _section(title: str, clauses: dict[str, str], tests: dict[str, list[str]]) -> str:
    rows = [
        f"| `{clause}` | {_cell(text)} | {'<br>'.join(f'`{test}`' for test in sorted(tests[clause]))} |\n"
        for clause, text in clauses.items()
    ]
    return f"\n## {title}\n\n| clause | text | tests |\n|---|---|---|\n" + "".join(rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> int:
    PAGE.write_text(page(read_sections(), find_marks()), "utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
