"""The rules that scripts/check applies to every file."""

from __future__ import annotations

import pytest
from scripts.repository_rules import findings_of, structure_findings


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


def test_an_import_from_a_test_module_is_found() -> None:
    for module in (b"tests.bridge.test_registry", b".test_registry"):
        (finding,) = findings_of("tests/bridge/test_warm_pool.py", b"from %b import Launcher\n" % module)
        assert module.decode() in finding
    assert (
        findings_of("tests/bridge/test_warm_pool.py", b"from tests.bridge.launchers import Launcher\n") == []
    )


@pytest.mark.parametrize(
    "line",
    [
        b"    from click._termui_impl import ProgressBar",
        b"import a._b",
        b"import _signal",
        b"from a.b import _c",
    ],
)
def test_an_import_of_a_private_name_is_found(line: bytes) -> None:
    assert findings_of("src/a.py", b"import os\n%b\n" % line) == ["src/a.py:2: imports a private name"]
    assert findings_of("src/a.py", b"from __future__ import annotations\nfrom a_b import c_d\n") == []


def test_an_address_of_a_registry_is_found_in_any_file() -> None:
    text = b'"resolved": ' + b'"https://registry.example/package.tgz"'
    assert findings_of("inspector/package-lock.json", text) == [
        "inspector/package-lock.json: contains an address of a package registry"
    ]


def test_two_classes_of_one_name_in_a_package_are_found_and_in_two_packages_not() -> None:
    source = b"class Reader:\n    pass\n"
    once = {
        "src/sandbox_agent/bridge/a.py": source,
        "src/sandbox_agent/http/deep/b.py": source,
        "src/sandbox_agent/http/schema.py": source,
    }
    assert structure_findings(once) == []
    (finding,) = structure_findings({**once, "src/sandbox_agent/http/c.py": source})
    assert "class Reader" in finding and "http/deep/b.py and src/sandbox_agent/http/c.py" in finding


@pytest.mark.parametrize("folder", ["src/sandbox_agent/http", "tests/support", "scripts/docs_pages"])
def test_a_folder_with_too_many_modules_is_found(folder: str) -> None:
    modules = {f"{folder}/m{number}.py": b"" for number in range(15)}
    modules[f"{folder}/__init__.py"] = b""
    assert structure_findings(modules) == []
    (finding,) = structure_findings({**modules, f"{folder}/m15.py": b""})
    assert finding.startswith(f"{folder}: 16 modules")


def test_a_folder_of_tests_without_a_package_is_found() -> None:
    modules = {
        "src/sandbox_agent/cli/daemon/start.py": b"",
        "tests/cli/daemon/test_daemon.py": b"",
        "tests/chaos/seeds/test_seeds.py": b"",
    }
    assert structure_findings(modules) == []
    (finding,) = structure_findings({**modules, "tests/cli/service/test_daemon.py": b""})
    assert finding.startswith("tests/cli/service: neither")
