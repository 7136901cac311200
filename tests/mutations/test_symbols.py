"""Symbols are found by qualified name, wherever the module that defines them has been moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutations.symbols import SymbolNotUnique, find_symbol

SOURCE = """\
LIMIT: int = 3

class Log:
    size = 1

    @property
    def last(self):
        return self.size

if LIMIT:
    async def look():
        pass
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "event_log.py").write_text(SOURCE)
    (tmp_path / "other.py").write_text("def look(): ...\n")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("LIMIT", (1, 1)),
        ("Log", (3, 8)),
        ("Log.size", (4, 4)),
        ("Log.last", (6, 8)),
        ("event_log:look", (11, 12)),
        ("deep.event_log:look", (11, 12)),
    ],
)
def test_the_lines_of_a_symbol(package: Path, name: str, lines: tuple[int, int]) -> None:
    found = find_symbol(package, name)
    assert found.path == package / "deep" / "event_log.py"
    assert (found.first_line, found.last_line) == lines


@pytest.mark.parametrize("name", ["look", "log:look", "last", "Log.missing"])
def test_a_name_that_is_not_there_exactly_once_is_an_error(package: Path, name: str) -> None:
    with pytest.raises(SymbolNotUnique):
        find_symbol(package, name)
