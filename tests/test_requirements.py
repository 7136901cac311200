"""Every promise is tied to tests: the table in `tests/requirements.toml` is complete and true.

Each clause names at least one test, each named test exists, no id is given twice, and every id that must be
there (`tests/requirements_expected.txt`: the specs' clauses, the decisions, the promises) is there.
"""

from __future__ import annotations

import ast
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_name("requirements.toml")
EXPECTED = Path(__file__).with_name("requirements_expected.txt")


@cache
def clauses() -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = tomllib.loads(TABLE.read_text("utf-8"))["clause"]
    return listed


def expected_ids() -> list[str]:
    lines = EXPECTED.read_text("utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


@cache
def names_in(path: Path) -> set[str]:
    """The names of the tests in a Python file: `test_x`, and `TestY::test_x` for methods."""
    names = set()
    for node in ast.parse(path.read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.ClassDef):
            names.update(_members(node))
    return names


def _members(node: ast.ClassDef) -> set[str]:
    if any(isinstance(base, ast.Attribute) and base.attr == "TestCase" for base in node.bases):
        return {node.name}
    members = {
        f"{node.name}::{item.name}"
        for item in node.body
        if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    return {node.name, *members}


def is_there(name: str) -> bool:
    file, _, test = name.partition("::")
    path = ROOT / file
    if not path.is_file():
        return False
    if path.suffix == ".py":
        module_level = {*names_in(path), *_assigned_names(path)}
        return test.partition("[")[0] in module_level
    return test in path.read_text("utf-8")


@cache
def _assigned_names(path: Path) -> set[str]:
    """Tests that are made by assignment, as hypothesis state machines are: `TestLog = Machine.TestCase`."""
    body = ast.parse(path.read_text("utf-8")).body
    targets = [target for node in body if isinstance(node, ast.Assign) for target in node.targets]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def test_every_clause_has_an_id_a_text_and_a_test() -> None:
    bare = [clause for clause in clauses() if not (clause["id"] and clause["text"] and clause["tests"])]
    assert not bare


def test_every_named_test_exists() -> None:
    missing = [
        f"{clause['id']}: {name}" for clause in clauses() for name in clause["tests"] if not is_there(name)
    ]
    assert not missing, "\n".join(missing)


def test_no_id_is_given_twice() -> None:
    ids = [clause["id"] for clause in clauses()]
    assert sorted(ids) == sorted(set(ids))


def test_nothing_that_was_promised_is_left_out() -> None:
    ids = {clause["id"] for clause in clauses()}
    missing = [
        wanted
        for wanted in expected_ids()
        if not any(each == wanted or each.startswith(wanted + "-") for each in ids)
    ]
    assert not missing
