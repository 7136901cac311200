"""Rules for all files of the repository: no registry addresses, no paths of this machine, plain English."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

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
# Verbatim copies, the table that quotes them, and the test of these rules.
QUOTED_TEXTS = (
    "docs/spec/",
    "docs/decisions.md",
    "docs/clauses.md",
    "tests/scripts/test_repository_rules.py",
)


def findings_of(name: str, data: bytes) -> list[str]:
    """What is wrong with the file `name` of the repository."""
    found = [f"{name}: contains {what}" for what, pattern in FORBIDDEN.items() if pattern.search(data)]
    if name.endswith(PROSE_SUFFIXES) and not name.startswith(QUOTED_TEXTS):
        for match in NOT_PLAIN.finditer(data):
            line = data.count(b"\n", 0, match.start()) + 1
            found.append(f"{name}:{line}: '{match[0].decode()}' is not plain English; name the component")
    return found


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    findings: list[str] = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if path.is_file() and path != Path(__file__).resolve():
            findings += findings_of(name, path.read_bytes())
    print("".join(f"{finding}\n" for finding in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
