"""Find a class, function or constant by its qualified name, in whichever module it is.

`EventLog.subscribe` names a method, `DELETE_ANSWER_S` a constant of a module. Where a name exists in several
modules, the last parts of the module's name make it unique: `envelope:look`, `jsonrpc.envelope:look`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Symbol(NamedTuple):
    path: Path
    name: str
    first_line: int
    last_line: int


class SymbolNotUnique(ValueError):
    """A name is found in no module, or in several."""


def find_symbol(directory: Path, name: str) -> Symbol:
    """The one symbol called `name` in the modules below `directory`."""
    module, _, qualified = name.rpartition(":")
    found = [
        symbol
        for path in sorted(directory.rglob("*.py"))
        if not module or f".{_module_name(path, directory)}".endswith(f".{module}")
        for symbol in symbols_in(path)
        if symbol.name == qualified
    ]
    if len(found) != 1:
        places = ", ".join(str(symbol.path.relative_to(directory)) for symbol in found)
        raise SymbolNotUnique(f"{name} is found {len(found)} times: {places}")
    return found[0]


def _module_name(path: Path, directory: Path) -> str:
    return ".".join(path.relative_to(directory).with_suffix("").parts)


@cache
def symbols_in(path: Path) -> tuple[Symbol, ...]:
    return tuple(_symbols(ast.parse(path.read_text("utf-8")), path, ""))


def _symbols(scope: ast.AST, path: Path, prefix: str) -> Iterator[Symbol]:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, Definition):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Symbol(path, prefix + node.name, first, node.end_lineno or first)
            if isinstance(node, ast.ClassDef):
                yield from _symbols(node, path, f"{prefix}{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    yield Symbol(path, prefix + target.id, node.lineno, node.end_lineno or node.lineno)
        else:
            yield from _symbols(node, path, prefix)
