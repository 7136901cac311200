"""`docs/migration.md` names every method of the published TypeScript SDK."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "migration.md"
# `/v1/desktop` is not served, as the page says. The others are no calls of a user of the SDK.
LEFT_OUT = re.compile("(?i)desktop|^(constructor|apply|onReady|onError|onClose)$")


@pytest.mark.clause("sdk-migration-table")
@pytest.mark.parametrize("name", ["SandboxAgent", "Session", "ProcessTerminalSession"])
def test_every_method_of_the_published_sdk_is_in_the_table(packages: Path, name: str) -> None:
    declarations = (packages / "sandbox-agent" / "dist" / "index.d.ts").read_text("utf-8")
    body = declarations.partition(f"declare class {name} ")[2].partition("\n}")[0]
    methods = set(re.findall(r"^    (?:static |async |get )*(\w+)(?:<[^>]*>)?\(", body, re.MULTILINE))
    wanted = sorted(one for one in methods if not LEFT_OUT.search(one))
    assert len(wanted) >= 4
    page = PAGE.read_text("utf-8")
    assert [one for one in wanted if not re.search(rf"\b{one}\b", page)] == []
