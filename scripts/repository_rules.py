"""Rules for the repository as a whole: no addresses of package registries, no paths of a machine."""

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
# A short place such as /tmp is named in documentation for good reasons; a long one is somebody's machine.
if len(ROOT.parent.parts) > 3:
    FORBIDDEN["a path of this machine"] = re.compile(re.escape(str(ROOT.parent).encode()) + rb"/")


def main() -> int:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True)  # noqa: S607
    findings = 0
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if not path.is_file() or path == Path(__file__).resolve():
            continue
        data = path.read_bytes()
        for what, pattern in FORBIDDEN.items():
            if pattern.search(data):
                print(f"{name}: contains {what}")
                findings += 1
    return 1 if findings else 0


sys.exit(main())
