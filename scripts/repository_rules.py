"""Rules for all files of the repository: no registry addresses, no paths of this machine, plain English.

A folder of the source, the tests and the scripts holds at most 15 modules. No two classes of a package have
the same name. Tests mirror the source: a folder of tests has the name of a package, or is a kind of test. No
module imports from a test module, so what several tests share has a module of its own. No module
imports a private name.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
FORBIDDEN = {
    "an address of a package registry": re.compile(
        rb'"resolved": *"http|index[-]url[ =]|https?://[^ ]*/simple[/]'
    ),
}
# Documentation may name a short path such as /tmp; a long one belongs to the machine it was written on.
if len(ROOT.parent.parts) > 3:
    FORBIDDEN["a path of this machine"] = re.compile(re.escape(str(ROOT.parent).encode()) + rb"/")

# Words that put people or metaphors in place of components. A quoted word is data, such as the user "nobody".
NOT_PLAIN = re.compile(
    rb"(?<![a-z\"'`])(whoever|somebody|someone|nobody|everybody|anybody|vigil|farewell|errand|guardian)(?![a-z])",
    re.IGNORECASE,
)
PROSE_SUFFIXES = (".md", ".py", ".ts", ".tsx")
TEST_IMPORT = re.compile(rb"^ *from (tests\.[a-z_.]*test_[a-z_]+|\.test_[a-z_]+) import", re.MULTILINE)
# `import a._b`, `from a._b import c`, `from a import _b`: the next release of a package may lack such a name.
PRIVATE_IMPORT = re.compile(
    rb"^ *(?:(?:from|import) (?:[a-z0-9_.]*\.)?_[a-z]|from [a-z0-9_.]+ import _[a-z])", re.MULTILINE
)
# Verbatim copies, the table that quotes them, and the test of these rules.
QUOTED_TEXTS = (
    "docs/spec/",
    "docs/decisions.md",
    "docs/clauses.md",
    "tests/scripts/test_repository_rules.py",
)

SOURCE, TESTS = PurePosixPath("src/sandbox_agent"), PurePosixPath("tests")
COUNTED = ("src/sandbox_agent/", "tests/", "scripts/", "bench/")
MAX_MODULES = 15
# Folders of tests that belong to no package; CONTRIBUTING.md says what is in each.
KINDS_OF_TESTS = frozenset(
    "bench browser chaos conformance deploy docs examples firefox fuzz mutations packaging real_agents "
    "reference_clients remote_clients scripts security support".split()
)
# Types of the agents' protocols keep the names that the vendors gave them.
GENERATED = "schema.py"


def findings_of(name: str, data: bytes) -> list[str]:
    """What is wrong with the file `name` of the repository."""
    found = [f"{name}: contains {what}" for what, pattern in FORBIDDEN.items() if pattern.search(data)]
    if name.endswith(".py"):
        shared = {match[1].decode() for match in TEST_IMPORT.finditer(data)}
        found += [
            f"{name}: imports from {module}; what tests share has a module of its own" for module in shared
        ]
        for match in PRIVATE_IMPORT.finditer(data):
            found.append(f"{name}:{_line(data, match)}: imports a private name")
    if name.endswith(PROSE_SUFFIXES) and not name.startswith(QUOTED_TEXTS):
        for match in NOT_PLAIN.finditer(data):
            word = match[0].decode()
            found.append(f"{name}:{_line(data, match)}: '{word}' is not plain English; name the component")
    return found


def _line(data: bytes, match: re.Match[bytes]) -> int:
    return data.count(b"\n", 0, match.start()) + 1


def structure_findings(modules: Mapping[str, bytes]) -> list[str]:
    """Folders that are too large or do not mirror the source, and classes of a package with the same name."""
    folders: dict[PurePosixPath, int] = defaultdict(int)
    classes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, data in modules.items():
        path = PurePosixPath(name)
        if not name.startswith(COUNTED) or path.suffix != ".py":
            continue
        folders[path.parent] += path.name != "__init__.py"
        if not path.is_relative_to(SOURCE) or path.name == GENERATED:
            continue
        package = path.relative_to(SOURCE).parts[0]
        for node in ast.parse(data).body:
            if isinstance(node, ast.ClassDef):
                classes[package, node.name].append(name)
    found = [
        f"{folder}: {count} modules, at most {MAX_MODULES} are easy to survey; give it packages"
        for folder, count in folders.items()
        if count > MAX_MODULES
    ]
    found += [
        f"{folder}: neither a package of the source nor a kind of test"
        for folder in folders
        if folder.is_relative_to(TESTS) and not _mirrors_the_source(folder.relative_to(TESTS), folders)
    ]
    return found + [
        f"class {name} stands in {' and '.join(places)}; one name is for one thing"
        for (_, name), places in classes.items()
        if len(places) > 1
    ]


def _mirrors_the_source(folder: PurePosixPath, folders: Collection[PurePosixPath]) -> bool:
    return SOURCE / folder in folders or folder.parts[0] in KINDS_OF_TESTS


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    findings: list[str] = []
    files: dict[str, bytes] = {}
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and path != Path(__file__).resolve():
            files[name] = path.read_bytes()
            findings += findings_of(name, files[name])
    findings += structure_findings(files)
    print("".join(f"{finding}\n" for finding in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
