"""Every field of the generated types is read by an adapter: without it the type check fails.

All fields are removed from copies of the types at once; fields behind a missing outer field are checked in
the next round, until none is left.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_ADAPTERS = _ROOT / "src/sandbox_agent/agents/adapters"
_AGENTS = ("amp", "claude", "codex", "opencode")
_COMPLAINT = re.compile(
    r'adapters/([a-z]+)/\w+\.py:\d+: error: (?:Item )?"(\w+)"(?: of .*)? has no attribute "(\w+)"'
)
_MOST_ROUNDS = 5
Field = tuple[str, str, str]


def fields_of(agent: str) -> set[Field]:
    tree = ast.parse((_ADAPTERS / agent / "schema.py").read_text())
    structs = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    return {(agent, struct.name, name) for struct in structs for name in _names(struct)}


def _names(struct: ast.ClassDef) -> list[str]:
    lines = [line for line in struct.body if isinstance(line, ast.AnnAssign)]
    return [line.target.id for line in lines if isinstance(line.target, ast.Name)]


def without(agent: str, fields: set[Field]) -> str:
    """The module of the agent's types without those fields."""
    tree = ast.parse((_ADAPTERS / agent / "schema.py").read_text())
    for struct in tree.body:
        if isinstance(struct, ast.ClassDef):
            gone = {name for owner, type_, name in fields if (owner, type_) == (agent, struct.name)}
            kept = [line for line in struct.body if not (_names_line(line) & gone)]
            struct.body = kept or [ast.Pass()]
    return ast.unparse(tree)


def _names_line(line: ast.stmt) -> set[str]:
    return (
        {line.target.id} if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) else set()
    )


def complaints(folder: Path, fields: set[Field]) -> set[Field]:
    """The fields whose absence the type check reports."""
    words = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache")]
    for agent in _AGENTS:
        copy = folder / f"{agent}.py"
        copy.write_text(without(agent, fields))
        words += ["--shadow-file", str(_ADAPTERS / agent / "schema.py"), str(copy)]
    done = subprocess.run([*words, str(_ADAPTERS)], cwd=_ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    found = _COMPLAINT.findall(done.stdout)
    return {(agent, type_, name) for agent, type_, name in found} & fields


@pytest.mark.clause("spec3-type-generation")
@pytest.mark.timeout(400)
def test_removing_any_field_of_the_types_fails_the_type_check(tmp_path: Path) -> None:
    left = set().union(*(fields_of(agent) for agent in _AGENTS))
    assert len(left) > 100
    for _ in range(_MOST_ROUNDS):
        noticed = complaints(tmp_path, left)
        left -= noticed
        if not left or not noticed:
            break
    assert sorted(left) == [], "no adapter reads these: remove them from scripts/schemas/used_fields.py"
