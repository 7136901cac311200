"""Findings of axe, a checker of accessibility, on the page as it is now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.browser.inspector_page import InspectorPage

_AXE = Path(__file__).parents[2] / "inspector" / "node_modules" / "axe-core" / "axe.min.js"


def serious_findings(inspector: InspectorPage) -> list[dict[str, Any]]:
    inspector.page.evaluate(_AXE.read_text(encoding="utf-8"))
    result = inspector.page.evaluate("axe.run(document, { resultTypes: ['violations'] })")
    return [
        {"rule": found["id"], "where": [node["target"] for node in found["nodes"]][:5]}
        for found in result["violations"]
        if found["impact"] in ("serious", "critical")
    ]
