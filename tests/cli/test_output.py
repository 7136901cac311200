"""Tables of commands, in a file and on a terminal."""

from __future__ import annotations

import json

import pytest

from sandbox_agent.cli.output import print_table
from tests.support.pseudo_terminal import output_on_terminal

LONG = "word " * 40 + "end"
ESCAPES = "\x1b[2Jcleared\x1b]0;title\x07\x9b31m"


def test_a_file_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "漢字", "text"), [("a", "é", LONG), ("long name", None, True)])
    assert capsys.readouterr().out.splitlines() == [
        "name       漢字  text",
        f"---------  ----  {'-' * len(LONG)}",
        f"a          é     {LONG}",
        "long name  -     yes",
    ]


def _on_terminal(rows: list[tuple[str, ...]], columns: int) -> list[str]:
    script = f"from sandbox_agent.cli.output import print_table; print_table(('name', 'text'), {rows!r})"
    return output_on_terminal(script, columns=columns).splitlines()


def test_a_terminal_gets_lines_of_its_width() -> None:
    lines = _on_terminal([("a", LONG), ("b", "short")], 40)
    assert max(map(len, lines)) <= 40
    assert lines[0].split() == ["name", "text"] and lines[-1].split() == ["b", "short"]
    assert [line for line in lines if line.startswith("a ")] == ["a     word word word word word word word"]
    assert " ".join(" ".join(lines[2:-1]).split()) == f"a {LONG}"


def test_escape_sequences_in_a_table_are_not_printed(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name",), [(ESCAPES,)])
    shown = [*capsys.readouterr().out.splitlines(), *_on_terminal([("a", ESCAPES)], 80)]
    assert all(line.isprintable() for line in shown), json.dumps(shown)
    assert any("?[2Jcleared" in line for line in shown)
