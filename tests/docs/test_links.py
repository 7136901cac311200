"""Every link inside the documentation leads somewhere."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.docs.markdown import ROOT, anchors_of, documents, links_of


@pytest.mark.clause("docs-checked")
@pytest.mark.parametrize(
    "file", [*documents(), ROOT / "llms.txt"], ids=lambda file: str(file.relative_to(ROOT))
)
def test_every_link_leads_somewhere(file: Path) -> None:
    broken = []
    for link in links_of(file):
        if link.startswith(("http://", "https://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (file.parent / unquote(path)).resolve() if path else file
        inside = target.is_relative_to(ROOT)
        if not inside or not target.exists() or (anchor and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []
