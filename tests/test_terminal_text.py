"""The width of text on a terminal, and what of it is shown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox_agent.terminal_text import cut, display_width, printable, wrap


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ümläut 漢", "plain ümläut 漢"),
        ("\x1b[31mred\x1b[0m\x07\x9b2J", "?[31mred?[0m??2J"),
        ("two\nlines\tand\r\u2028more", "two lines and  more"),
        ("\u202efdp.exe", "?fdp.exe"),
        ("👩\u200d💻", "👩\u200d💻"),
    ],
)
def test_control_characters_are_replaced(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(("text", "width"), [("abc", 3), ("漢字", 4), ("e\u0301", 1), ("", 0)])
def test_width_counts_terminal_columns(text: str, width: int) -> None:
    assert display_width(text) == width


def test_text_is_cut_before_the_character_that_does_not_fit() -> None:
    assert (cut("漢字", 3), cut("漢字", 4), cut("abc", 0)) == ("漢", "漢字", "")


def test_lines_break_at_spaces_and_inside_long_words() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("one-two-three four", 7) == ["one-two", "-three", "four"]
    assert wrap("", 7) == [""]


@given(st.text(), st.integers(2, 20))
def test_wrapped_text_fits_and_loses_only_spaces(text: str, width: int) -> None:
    lines = wrap(printable(text), width)
    assert all(display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(printable(text).split())
