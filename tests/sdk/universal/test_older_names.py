"""Decision 41: the docs map every older name to one that exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sandbox_agent.sdk.universal import EVENT_CLASSES

PAGE = Path(__file__).parents[3] / "docs" / "universal-events.md"
OLDER = [
    "UniversalEvent", "UniversalEventData", "Message", "Started", "Error", "QuestionAsked", "PermissionAsked",
    "Unknown", "UniversalMessage", "Unparsed", "UniversalMessagePart", "Text", "ToolCall", "ToolResult",
    "FunctionCall", "FunctionResult", "File", "Image", "questionAsked", "permissionAsked",
]  # fmt: skip


def rows() -> list[tuple[str, str]]:
    section = PAGE.read_text(encoding="utf-8").split("## Older names")[1].split("\n## ")[0]
    cells = re.findall(r"^\| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    return [(old, new) for old, new in cells if old != "older name" and not old.startswith("---")]


@pytest.mark.clause("decision-41")
def test_the_docs_map_every_older_name() -> None:
    old_side = " ".join(old for old, _ in rows())
    assert [name for name in OLDER if not re.search(rf"\b{name}\b", old_side)] == []


def test_the_new_names_exist() -> None:
    dotted = {name for _, new in rows() for name in re.findall(r"`([a-z]+\.[a-z]+)`", new)}
    assert dotted - {"replies.permission"} <= set(EVENT_CLASSES)
    assert len(dotted) > 5
