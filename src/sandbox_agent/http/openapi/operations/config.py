"""Descriptions of the config endpoints."""

from __future__ import annotations

from typing import Any

from sandbox_agent import errors
from sandbox_agent.http.openapi.operations.operation import Answer, Content, Operation, Parameter
from sandbox_agent.workspace.config import mcp, skills

_DIRECTORY = Parameter(
    "directory",
    "The directory the config belongs to; relative ones start at the server's working directory",
    required=True,
    schema={"type": "string", "pattern": r"\S"},
    example="/home/user/project",
)
_ALWAYS = [errors.PermissionDenied, errors.NotFound, errors.Conflict, errors.StreamError, errors.Timeout]
_MCP_EXAMPLES = {
    "local": {"type": "local", "command": "npx", "args": ["-y", "some-mcp-server"], "env": {"DEBUG": "1"}},
    "remote": {"type": "remote", "url": "https://mcp.example/mcp", "bearerTokenEnvVar": "MCP_TOKEN"},
}
_SKILLS_EXAMPLE = {"sources": [{"type": "github", "source": "owner/repository", "skills": ["review"]}]}
_LENIENT_MCP = {
    "description": "Read in either form. Older names are taken too: `type` stdio, http, sse; fields "
    + ", ".join(
        sorted({f"{alias} ({name})" for by in mcp.FIELD_ALIASES.values() for alias, name in by.items()})
    ),
    "anyOf": [
        {"$ref": "#/components/schemas/McpLocal"},
        {"$ref": "#/components/schemas/McpRemote"},
        {
            "type": "object",
            "description": "Older names, normalised when stored",
            "properties": {"type": {"enum": sorted(mcp.TYPE_ALIASES)}},
            "required": ["type"],
        },
    ],
}


def _three(kind: str, title: str, entry: Any, body: Content) -> dict[tuple[str, str], Operation]:
    name = Parameter(
        f"{kind}Name" if kind == "mcp" else "skillName",
        "Name of the entry, any text that is not blank",
        required=True,
        schema={"type": "string", "pattern": r"\S"},
        example="my-entry",
    )
    path = f"/v1/config/{kind}"
    answer = Content(entry, body.example, examples=body.examples)
    listed = mcp.McpEntries if kind == "mcp" else skills.SkillsEntries
    example = body.example if body.example is not None else next(iter(body.examples.values()))
    same = {"query.directory": "$request.query.directory"}
    named = {**same, f"query.{name.name}": f"$request.query.{name.name}"}
    links = {
        f"get{title}Config": {"operationId": f"get{title}Config", "parameters": named},
        f"delete{title}Config": {"operationId": f"delete{title}Config", "parameters": named},
        f"list{title}Config": {"operationId": f"list{title}Config", "parameters": same},
    }
    return {
        ("GET", path): Operation(
            id=f"get{title}Config",
            tag="config",
            summary=f"Read one {kind} entry",
            parameters=[_DIRECTORY, name],
            answers={200: Answer("The entry, normalised", [answer])},
            errors=_ALWAYS,
        ),
        ("PUT", path): Operation(
            id=f"set{title}Config",
            tag="config",
            summary=f"Write one {kind} entry",
            description="Unknown fields of this entry are dropped; other entries stay as they are.",
            parameters=[_DIRECTORY, name],
            body=[body],
            answers={204: Answer("Stored", links=links)},
            errors=[*_ALWAYS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
        ),
        ("DELETE", path): Operation(
            id=f"delete{title}Config",
            tag="config",
            summary=f"Remove one {kind} entry",
            parameters=[_DIRECTORY, name],
            answers={204: Answer("Gone, now or before")},
            errors=_ALWAYS,
        ),
        ("GET", f"{path}/entries"): Operation(
            id=f"list{title}Config",
            tag="config",
            summary=f"Read all {kind} entries of a directory",
            description="An entry that cannot be understood is listed under `invalid` with the reason.",
            parameters=[_DIRECTORY],
            answers={200: Answer("By name", [Content(listed, {"entries": {"my-entry": example}})])},
            errors=_ALWAYS,
        ),
    }


OPERATIONS = {
    **_three("mcp", "Mcp", mcp.McpLocal | mcp.McpRemote, Content(_LENIENT_MCP, examples=_MCP_EXAMPLES)),
    **_three("skills", "Skills", skills.SkillsConfig, Content(skills.SkillsConfig, _SKILLS_EXAMPLE)),
}
