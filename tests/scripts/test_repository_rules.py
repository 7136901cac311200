"""The rules that scripts/check applies to every file."""

from __future__ import annotations

import pytest
from scripts.repository_rules import findings_of


def test_a_word_that_is_not_plain_english_is_found_with_its_line() -> None:
    (finding,) = findings_of("docs/page.md", b"A title\n\nWhoever reads this waits.\n")
    assert finding.startswith("docs/page.md:3: 'Whoever'")


def test_such_a_word_is_found_in_the_name_of_a_test() -> None:
    (finding,) = findings_of("tests/test_page.py", b"def test_a_reader_slows_nobody() -> None: ...\n")
    assert finding.startswith("tests/test_page.py:1: 'nobody'")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("docs/page.md", b"The server starts the agent as the user `nobody`.\n"),
        ("docs/spec/1-simplified-server.md", b"It slows nobody.\n"),
        ("inspector/package-lock.json", b'"name": "errand"'),
    ],
    ids=["a quoted word", "a verbatim copy", "not prose"],
)
def test_quoted_words_copies_and_data_are_not_checked(name: str, text: bytes) -> None:
    assert findings_of(name, text) == []


def test_an_address_of_a_registry_is_found_in_any_file() -> None:
    text = b'"resolved": ' + b'"https://registry.example/package.tgz"'
    assert findings_of("inspector/package-lock.json", text) == [
        "inspector/package-lock.json: contains an address of a package registry"
    ]
