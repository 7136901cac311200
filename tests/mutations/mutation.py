"""One behaviour broken on purpose: where, how, and the test that has to notice."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tests.mutations.symbols import Symbol, find_symbol

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Mutation:
    decision: int
    breaks: str
    symbol: str
    find: str
    replace: str
    test: str

    @cached_property
    def place(self) -> Symbol:
        return find_symbol(SOURCE / "sandbox_agent", self.symbol)

    @property
    def module(self) -> str:
        """The name under which the broken module is imported."""
        return ".".join(self.place.path.relative_to(SOURCE).with_suffix("").parts)

    @property
    def test_id(self) -> str:
        """The test that has to notice, as pytest names it."""
        return f"{find_symbol(TESTS, self.test).path.relative_to(ROOT).as_posix()}::{self.test}"

    def occurrences(self) -> int:
        return self._parts()[1].count(self.find)

    def break_copy(self, directory: Path) -> Path:
        """Copy the source into `directory`, make the edit there, and return the copy's import path."""
        if self.occurrences() != 1:
            raise ValueError(f"{self.symbol}: the text to break is there {self.occurrences()} times")
        copy = directory / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page"))
        before, segment, after = self._parts()
        path = copy / self.place.path.relative_to(SOURCE)
        path.write_text(before + segment.replace(self.find, self.replace) + after, "utf-8")
        return copy

    def _parts(self) -> tuple[str, str, str]:
        """The text of the module before, inside and after the symbol."""
        lines = self.place.path.read_text("utf-8").splitlines(keepends=True)
        first, last = self.place.first_line - 1, self.place.last_line
        return "".join(lines[:first]), "".join(lines[first:last]), "".join(lines[last:])


def all_mutations() -> list[Mutation]:
    document = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text("utf-8"))
    return [Mutation(**entry) for entry in document["mutation"]]
