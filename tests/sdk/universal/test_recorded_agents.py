"""What a UI draws from the recorded turns of real agents: tools, permissions, questions, whole messages."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .fixtures import FIXTURES, load

RECORDED = [path for path in FIXTURES if path.stem.startswith("recorded-")]
COMMAND = "echo hi"


def events(path: Path, *types: str) -> list[dict[str, Any]]:
    return [event for event in load(path)["expected"] if event["type"] in types]


def items(path: Path, kind: str, *types: str) -> list[dict[str, Any]]:
    found = [event["data"]["item"] for event in events(path, *types)]
    return [item for item in found if item["kind"] == kind]


@pytest.mark.clause("events-vendor-messages")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_nothing_is_unparsed_and_no_notice_is_an_item(path: Path) -> None:
    assert events(path, "agent.unparsed") == []
    assert items(path, "status", "item.started") == items(path, "unknown", "item.started") == []


@pytest.mark.clause("events-tool-facts")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_tool_has_one_name_and_kind_and_shows_its_command_while_it_runs(path: Path) -> None:
    calls = items(path, "tool_call", "item.started", "item.updated", "item.completed")
    names: dict[str, set[Any]] = {}
    for item in calls:
        (part,) = item["content"]
        names.setdefault(item["item_id"], set()).add(part["name"])
        assert part["name"].replace("_", "").isalpha()
    assert all(len(named) == 1 for named in names.values())
    running = items(path, "tool_call", "item.started", "item.updated")[:3]
    assert any(COMMAND in json.dumps(item["content"]) for item in running)
    assert {item["content"][0].get("kind") for item in calls} <= {"execute", "other", "think", None}


@pytest.mark.clause("events-shell-output")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_the_output_of_a_command_is_readable_text(path: Path) -> None:
    output = items(path, "tool_result", "item.completed")[0]["content"][0]["output"]
    assert "hi" in output and not output.startswith(("{", "```"))
    deltas = [event["data"] for event in events(path, "item.delta")]
    first = items(path, "tool_call", "item.started")[0]["item_id"]
    shown = "".join(delta["delta"] for delta in deltas if delta["item_id"] == first)
    assert shown in ("", output)


@pytest.mark.clause("events-permission-facts")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_permission_says_the_command_and_the_kind_of_tool(path: Path) -> None:
    for request in events(path, "permission.requested"):
        assert COMMAND in request["data"]["action"]
        assert request["data"]["metadata"]["tool_call"]["kind"] == "execute"


@pytest.mark.clause("events-one-question")
@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_a_question_is_asked_once_without_its_header(path: Path) -> None:
    asked = [event["data"] for event in events(path, "question.requested")]
    expected = [] if path.stem in ("recorded-codex", "recorded-pi") else [("Which colour?", ["Red", "Blue"])]
    assert [(question["prompt"], question["options"]) for question in asked] == expected
    assert [event["data"]["response"] for event in events(path, "question.resolved")] == ["Red"] * len(asked)


@pytest.mark.clause("events-shell-output")
def test_results_are_text_and_diffs_instead_of_json() -> None:
    """What Copilot, Qwen, Grok and Codex put into `rawOutput`, and what Kilo showed when it asked."""
    (path,) = (path for path in FIXTURES if path.stem == "tool-results-of-agents")
    results = [item["content"] for item in items(path, "tool_result", "item.completed")]
    shown = [(parts[0]["output"], [part.get("action") for part in parts[1:]]) for parts in results]
    assert shown[:3] == [("old\n", ["read"]), ("", ["patch"]), ("Wrote file successfully.", ["patch"])]
    assert shown[3:5] == [("here\nand there", []), ("the server is gone", [])]
    assert json.loads(shown[5][0])["result"]["content"][1]["type"] == "image"
    (question,) = events(path, "question.requested")
    assert question["data"]["prompt"] == "Which colour?"
