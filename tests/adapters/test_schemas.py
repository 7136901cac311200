"""The schema pipeline: the committed types come from the committed schemas, and misfits are named."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from sandbox_agent.agents.adapters.schemas import amp, claude, codex, opencode

_ROOT = Path(__file__).parents[2]
_MODULES = {"amp": amp, "claude": claude, "codex": codex, "opencode": opencode}
sys.path.insert(0, str(_ROOT / "scripts" / "schemas"))
from normalise import DoesNotFit, normalise  # noqa: E402 - a script's module, found by the path above
from wanted import WANTED  # noqa: E402 - as above


@pytest.mark.parametrize("agent", _MODULES)
def test_types_have_exactly_the_fields_of_the_committed_schema(agent: str) -> None:
    schema = json.loads((_ROOT / "schemas" / f"{agent}.json").read_text())["$defs"]
    assert list(schema) == list(WANTED[agent])
    for name, definition in schema.items():
        fields = {field.encode_name: field for field in _fields(_MODULES[agent], name)}
        assert set(fields) == set(definition["properties"]) == set(WANTED[agent][name].split()), name
        required = [key for key, field in fields.items() if field.required]
        assert set(required) >= set(definition["required"]), name


def _fields(module: ModuleType, name: str) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(getattr(module, name))


def test_a_field_that_a_newer_agent_dropped_is_named() -> None:
    old = {"Thing": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}
    assert normalise(old, {"Thing": "a"})["$defs"]["Thing"]["required"] == ["a"]
    with pytest.raises(DoesNotFit, match="Thing has no b"):
        normalise(old, {"Thing": "a b"})
    with pytest.raises(DoesNotFit, match="Other is gone"):
        normalise(old, {"Other": "a"})


def test_new_words_and_unions_of_objects_are_no_misfit() -> None:
    known = {
        "Thing": {
            "type": "object",
            "properties": {
                "status": {"type": "string", "enum": ["a", "b"]},
                "item": {"oneOf": [{"type": "object", "title": "X"}, {"type": "object", "title": "Y"}]},
                "note": {"type": ["string", "null"]},
            },
            "required": ["status", "item", "note"],
        }
    }
    thing = normalise(known, {"Thing": "status item note"})["$defs"]["Thing"]
    assert thing["properties"]["status"] == {"type": "string"}
    assert thing["required"] == ["status", "item"], "what may be null may be missing"
