"""MCP and skills entries: aliases, nulls, unknown fields, and faults that name their field."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from sandbox_agent.errors import InvalidRequest
from sandbox_agent.workspace.config import mcp, skills

LOCAL = {"type": "local", "command": "npx"}
REMOTE = {"type": "remote", "url": "https://x"}


@pytest.mark.clause("spec1-5.3-mcp-config")
@pytest.mark.parametrize(
    ("given", "stored"),
    [
        (LOCAL, {**LOCAL, "args": []}),
        (
            {"type": "stdio", "command": ["npx", "-y"]},
            {"type": "local", "command": ["npx", "-y"], "args": []},
        ),
        ({**LOCAL, "command": ""}, {"type": "local", "command": "", "args": []}),
        ({**LOCAL, "args": ["a"], "environment": {"A": "1"}}, {**LOCAL, "args": ["a"], "env": {"A": "1"}}),
        ({**LOCAL, "timeout": 5}, {**LOCAL, "args": [], "timeoutMs": 5}),
        ({**LOCAL, "cwd": "/x", "enabled": False}, {**LOCAL, "args": [], "cwd": "/x", "enabled": False}),
        ({**LOCAL, "env": None, "cwd": None, "unknown": 1, "url": 3}, {**LOCAL, "args": []}),
        (REMOTE, REMOTE),
        ({"type": "http", "url": ""}, {"type": "remote", "url": ""}),
        ({"type": "sse", "url": "u"}, {"type": "remote", "url": "u", "transport": "sse"}),
        ({"type": "sse", "url": "u", "transport": None}, {"type": "remote", "url": "u", "transport": "sse"}),
        ({**REMOTE, "transport": "http"}, {**REMOTE, "transport": "http"}),
        ({**REMOTE, "bearer_token_env_var": "T"}, {**REMOTE, "bearerTokenEnvVar": "T"}),
        ({**REMOTE, "envHttpHeaders": {"A": "B"}}, {**REMOTE, "envHeaders": {"A": "B"}}),
        ({**REMOTE, "env_http_headers": {"A": "B"}}, {**REMOTE, "envHeaders": {"A": "B"}}),
        (
            {**REMOTE, "headers": {"A": "B"}, "timeoutMs": 0},
            {**REMOTE, "headers": {"A": "B"}, "timeoutMs": 0},
        ),
        ({**REMOTE, "oauth": False}, {**REMOTE, "oauth": False}),
        (
            {**REMOTE, "oauth": {"clientId": "c", "scope": None, "x": 1}},
            {**REMOTE, "oauth": {"clientId": "c"}},
        ),
    ],
)
def test_an_mcp_entry_is_normalised(given: dict[str, Any], stored: dict[str, Any]) -> None:
    once = msgspec.json.encode(mcp.parse(json.dumps(given).encode()))
    assert json.loads(once) == stored
    assert msgspec.json.encode(mcp.parse(once)) == once


@pytest.mark.clause("config-entries")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "type"),
        ({"type": 1}, "type"),
        ({"type": "ftp", "url": "x"}, "ftp"),
        ({"type": "local"}, "command"),
        ({"type": "local", "command": None}, "command"),
        ({"type": "local", "command": 5}, "command"),
        ({"type": "local", "command": ["a", 5]}, r"command\[1\]"),
        ({**LOCAL, "args": None}, "args"),
        ({**LOCAL, "args": "x"}, "args"),
        ({**LOCAL, "env": {"A": 1}}, "env"),
        ({**LOCAL, "env": {}, "environment": {}}, "env: given twice"),
        ({**LOCAL, "timeoutMs": -1}, "timeoutMs"),
        ({**LOCAL, "timeoutMs": 1.5}, "timeoutMs"),
        ({**LOCAL, "timeout": "5"}, "timeoutMs"),
        ({**LOCAL, "enabled": "yes"}, "enabled"),
        ({"type": "remote"}, "url"),
        ({**REMOTE, "headers": []}, "headers"),
        ({**REMOTE, "oauth": "yes"}, "oauth"),
        ({**REMOTE, "oauth": {"clientId": 5}}, "oauth.clientId"),
        ({**REMOTE, "transport": "ws"}, "transport"),
        ({"type": "sse", "url": "u", "transport": "http"}, "transport"),
    ],
)
def test_a_fault_of_an_mcp_entry_names_its_field(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        mcp.parse(json.dumps(given).encode())


@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_object_is_refused(body: bytes) -> None:
    for parse in (mcp.parse, skills.parse):
        with pytest.raises(InvalidRequest):
            parse(body)


@pytest.mark.clause("spec1-5.4-skills-config")
def test_a_skills_entry_is_normalised() -> None:
    source = {"type": "github", "source": "a/b", "skills": ["x"], "ref": "main", "subpath": "s"}
    given = {"sources": [{**source, "z": 1}, {"type": "any", "source": "", "ref": None}], "other": 5}
    stored = {"sources": [source, {"type": "any", "source": ""}]}
    assert json.loads(msgspec.json.encode(skills.parse(json.dumps(given).encode()))) == stored


@pytest.mark.clause("config-entries")
@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({}, "sources"),
        ({"sources": None}, "sources"),
        ({"sources": {}}, "sources"),
        ({"sources": [5]}, r"sources\[0\]"),
        ({"sources": [{"type": "x"}]}, "source"),
        ({"sources": [{"type": 5, "source": "x"}]}, r"sources\[0\].type"),
        ({"sources": [{"type": "x", "source": "x", "skills": [1]}]}, "skills"),
    ],
)
def test_a_fault_of_a_skills_entry_names_its_field(given: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidRequest, match=named):
        skills.parse(json.dumps(given).encode())
