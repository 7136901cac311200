"""One behaviour broken on purpose: where, how, and the test that has to notice."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


@dataclass(frozen=True)
class Mutation:
    decision: int
    breaks: str
    file: str
    find: str
    replace: str
    test: str

    def occurrences(self) -> int:
        return (SOURCE / "sandbox_agent" / self.file).read_text("utf-8").count(self.find)

    def break_copy(self, directory: Path) -> Path:
        """Copy the source into `directory`, make the edit there, and return the copy's import path."""
        copy = directory / "src"
        shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "page"))
        path = copy / "sandbox_agent" / self.file
        text = path.read_text("utf-8")
        if text.count(self.find) != 1:
            raise ValueError(f"{self.file}: the text to break is there {text.count(self.find)} times")
        path.write_text(text.replace(self.find, self.replace), "utf-8")
        return copy


def all_mutations() -> list[Mutation]:
    document = tomllib.loads(Path(__file__).with_name("mutations.toml").read_text("utf-8"))
    return [Mutation(**entry) for entry in document["mutation"]]
