"""Rules for all files of the repository: no registry addresses, no paths of this machine, plain English.

And for the source: a folder holds at most 15 modules, and no two classes of a package have the same name. For
the tests: no module imports from a test module, so what several tests share has a module of its own.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Mapping
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
    rb"(?<![a-z\"'`])(whoever|somebody|nobody|everybody|vigil|farewell|errand|guardian)(?![a-z])",
    re.IGNORECASE,
)
PROSE_SUFFIXES = (".md", ".py", ".ts", ".tsx")
TEST_IMPORT = re.compile(rb"^ *from (tests\.[a-z_.]*test_[a-z_]+|\.test_[a-z_]+) import", re.MULTILINE)
# Verbatim copies, the table that quotes them, and the test of these rules.
QUOTED_TEXTS = (
    "docs/spec/",
    "docs/decisions.md",
    "docs/clauses.md",
    "tests/scripts/test_repository_rules.py",
)

SOURCE = PurePosixPath("src/sandbox_agent")
MAX_MODULES = 15
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
    if name.endswith(PROSE_SUFFIXES) and not name.startswith(QUOTED_TEXTS):
        for match in NOT_PLAIN.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: '{match[0].decode()}' is not plain English; name the component")
    return found


def structure_findings(modules: Mapping[str, bytes]) -> list[str]:
    """Which folders of the source are too large, and which classes of one package share a name."""
    folders: dict[PurePosixPath, int] = defaultdict(int)
    classes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for name, data in modules.items():
        path = PurePosixPath(name)
        if not path.is_relative_to(SOURCE) or path.suffix != ".py":
            continue
        folders[path.parent] += path.name != "__init__.py"
        if path.name == GENERATED:
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
    return found + [
        f"class {name} stands in {' and '.join(places)}; one name is for one thing"
        for (_, name), places in classes.items()
        if len(places) > 1
    ]


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
