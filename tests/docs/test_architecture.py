"""The files that docs/architecture.md names exist."""

from __future__ import annotations

import re

import pytest

from tests.docs.markdown import ROOT

SOURCE = ROOT / "src" / "sandbox_agent"
_PATH = re.compile(r"`([\w*./-]+(?:\.py|/))`")
_TREE_ENTRY = re.compile(r"^( *)([\w.]+/?)(?: |$)", re.MULTILINE)


@pytest.mark.clause("docs-checked")
def test_every_path_in_the_architecture_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    paths = _PATH.findall(text)
    assert len(paths) > 60
    missing = [path for path in paths if not any(any(root.glob(path)) for root in (SOURCE, ROOT))]
    assert missing == []


@pytest.mark.clause("docs-checked")
def test_every_package_is_in_the_architecture() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = text.partition("src/sandbox_agent/\n")[2].partition("```")[0]
    named = {match[2].rstrip("/") for match in _TREE_ENTRY.finditer(tree)}
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert packages - named == set()
