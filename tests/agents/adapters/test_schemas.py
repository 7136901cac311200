"""The schema scripts: the committed types match the committed schemas, and mismatches are named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from sandbox_agent.agents.adapters.amp import schema as amp
from sandbox_agent.agents.adapters.claude import schema as claude
from sandbox_agent.agents.adapters.codex import schema as codex
from sandbox_agent.agents.adapters.opencode import schema as opencode

_ROOT = Path(__file__).parents[3]
_MODULES = {"amp": amp, "claude": claude, "codex": codex, "opencode": opencode}
sys.path.insert(0, str(_ROOT / "scripts" / "schemas"))
from extract import EXTRACTORS  # noqa: E402 - a script's module, found by the path above
from normalise import SchemaMismatch, normalise  # noqa: E402 - as above
from used_fields import USED_FIELDS  # noqa: E402 - as above


@pytest.mark.clause("spec3-type-generation")
@pytest.mark.parametrize("agent", _MODULES)
def test_types_have_exactly_the_fields_of_the_committed_schema(agent: str) -> None:
    schema = json.loads((_ROOT / "schemas" / f"{agent}.json").read_text())["$defs"]
    assert list(schema) == list(USED_FIELDS[agent])
    for name, definition in schema.items():
        fields = {field.encode_name: field for field in _fields(_MODULES[agent], name)}
        assert set(fields) == set(definition["properties"]) == set(USED_FIELDS[agent][name].split()), name
        required = [key for key, field in fields.items() if field.required]
        assert set(required) >= set(definition["required"]), name


def _fields(module: ModuleType, name: str) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(getattr(module, name))


@pytest.mark.clause("spec3-schema-extraction")
def test_a_field_that_a_newer_agent_dropped_is_named() -> None:
    old = {"Thing": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}
    assert normalise(old, {"Thing": "a"})["$defs"]["Thing"]["required"] == ["a"]
    with pytest.raises(SchemaMismatch, match="Thing has no b"):
        normalise(old, {"Thing": "a b"})
    with pytest.raises(SchemaMismatch, match="Other is gone"):
        normalise(old, {"Other": "a"})


@pytest.mark.clause("spec3-schema-extraction")
@pytest.mark.parametrize("agent", ["codex", "opencode"])
def test_the_installed_program_still_has_the_committed_schema(
    agent: str, program: Callable[[str], Path], tmp_path: Path
) -> None:
    """Codex and OpenCode print or serve their schema; those of the others are checked by `--check`."""
    installed = program(agent).resolve()
    packages = next(folder for folder in installed.parents if folder.name == "node_modules")
    (tmp_path / "node_modules").symlink_to(packages)
    schema = normalise(EXTRACTORS[agent](tmp_path), USED_FIELDS[agent])
    assert schema == json.loads((_ROOT / "schemas" / f"{agent}.json").read_text())


_OFFLINE = {"npm_config_registry": "http://127.0.0.1:9", "npm_config_fetch_retries": "0"}


def extract(option: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, str(_ROOT / "scripts/schemas"), option, str(folder)]
    cache = {"npm_config_cache": str(folder / "npm-cache")}
    env = {**os.environ, **cache, **environment}
    return subprocess.run(words, capture_output=True, text=True, timeout=120, env=env)


@pytest.mark.clause("spec3-schema-extraction")
@pytest.mark.parametrize(
    ("environment", "reason"),
    [(_OFFLINE, "npm: npm error"), ({"PATH": "/nothing-here"}, "npm is not installed")],
    ids=["no network", "no npm"],
)
def test_without_network_or_npm_the_committed_schemas_stay(
    tmp_path: Path, environment: dict[str, str], reason: str
) -> None:
    before = {path.name: path.read_bytes() for path in (_ROOT / "schemas").iterdir()}
    for option, code in (("--check", 1), ("--extract", 0)):
        done = extract(option, tmp_path / "packages", environment)
        assert done.returncode == code, done.stderr
        lines = done.stderr.splitlines()
        assert [line.partition(":")[0] for line in lines] == ["codex", "opencode", "claude", "amp"], lines
        for line in lines:
            assert reason in line and line.endswith("; its committed schema stays"), line
    assert before == {path.name: path.read_bytes() for path in (_ROOT / "schemas").iterdir()}


@pytest.mark.clause("spec3-schema-extraction")
def test_the_check_names_the_agent_that_no_longer_fits_and_fails(tmp_path: Path) -> None:
    """A newer Codex that renamed a field; the other agents are not installed."""
    found = json.loads((_ROOT / "schemas" / "codex.json").read_text())["$defs"]
    delta = found["AgentMessageDeltaNotification"]["properties"]
    delta["piece"] = delta.pop("delta")
    document = {"definitions": found}
    program = tmp_path / "node_modules" / ".bin" / "codex"
    program.parent.mkdir(parents=True)
    file = "codex_app_server_protocol.schemas.json"
    program.write_text(f"#!/bin/sh\nmkdir -p $4\ncat > $4/{file} <<'END'\n{json.dumps(document)}\nEND\n")
    program.chmod(0o755)
    done = extract("--check", tmp_path, _OFFLINE)
    assert done.returncode == 1
    assert "codex: AgentMessageDeltaNotification has no delta; it has itemId, piece" in done.stderr
    assert "opencode: the schema cannot be extracted" in done.stderr


@pytest.mark.clause("spec3-schema-extraction")
def test_new_enum_values_and_unions_of_objects_are_no_mismatch() -> None:
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
