"""The shared fixtures: messages of a session, and the events they must give, as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from sandbox_agent.sdk.universal import UniversalEvent, UniversalMapper

FIXTURES = sorted((Path(__file__).parents[2] / "fixtures" / "universal").glob("*.json"))


def load(path: Path) -> dict[str, Any]:
    fixture: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return fixture


def mapper_for(fixture: dict[str, Any], **more: Any) -> UniversalMapper:
    options = dict(fixture["mapper"])
    return UniversalMapper(options.pop("session_id"), **options, **more)


def derive(fixture: dict[str, Any]) -> list[UniversalEvent]:
    mapper = mapper_for(fixture)
    return [
        event
        for step in fixture["input"]
        for event in mapper.feed(step["message"], step["direction"], time=step["time"])
    ]


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
