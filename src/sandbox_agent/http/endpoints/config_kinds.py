"""The two kinds of config entries, MCP servers and skills: their types and their OpenAPI operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import UNSET, UnsetType

from sandbox_agent import errors
from sandbox_agent.http.openapi.operation import Content, NonBlank, Operation, RequiredText, ResponseSpec
from sandbox_agent.workspace.config import mcp, skills

DIRECTORY = RequiredText(
    "directory",
    "The directory the config belongs to; a relative one starts at the server's working directory",
    "/home/user/project",
    NonBlank,
)
_ERRORS = [errors.PermissionDenied, errors.NotFound, errors.Conflict, errors.StreamError, errors.Timeout]


@dataclass(frozen=True)
class ConfigKind:
    """What differs between MCP and skills."""

    name: str
    """As in the path and the file name."""
    title: str
    """As in the operation ids."""
    entry_name: RequiredText
    parse: Callable[[bytes | msgspec.Raw], msgspec.Struct]
    entry_type: Any
    list_type: Callable[[dict[str, Any], dict[str, str] | UnsetType], msgspec.Struct]
    body: Content
    examples: Mapping[str, msgspec.Struct]

    def links(self) -> dict[str, dict[str, Any]]:
        directory = {"query.directory": "$request.query.directory"}
        entry = {**directory, f"query.{self.entry_name.name}": f"$request.query.{self.entry_name.name}"}
        parameters = {"get": entry, "delete": entry, "list": directory}
        return {
            f"{verb}{self.title}Config": {"operationId": f"{verb}{self.title}Config", "parameters": same}
            for verb, same in parameters.items()
        }


def _entry_name(name: str, alias: str) -> RequiredText:
    return RequiredText(
        name, "Name of the entry, any text that is not blank", "my-entry", NonBlank, aliases=(alias,)
    )


_MCP_EXAMPLES = {
    "local": mcp.McpLocal(command="npx", args=["-y", "some-mcp-server"], env={"DEBUG": "1"}),
    "remote": mcp.McpRemote(url="https://mcp.example/mcp", bearer_token_env_var="MCP_TOKEN"),  # noqa: S106
}
MCP = ConfigKind(
    name="mcp",
    title="Mcp",
    entry_name=_entry_name("mcpName", "mcp_name"),
    parse=mcp.parse,
    entry_type=mcp.McpLocal | mcp.McpRemote,
    list_type=mcp.McpEntries,
    body=Content(
        (mcp.McpLocal, mcp.McpRemote, mcp.McpOlderNames),
        examples=_MCP_EXAMPLES,
        description="Older names are accepted too: `type` stdio, http, sse; fields "
        + ", ".join(f"{alias} ({name})" for alias, name in mcp.field_aliases()),
    ),
    examples=_MCP_EXAMPLES,
)
_SKILLS_EXAMPLES = {
    "github": skills.SkillsConfig(
        [skills.SkillSource(type="github", source="owner/repository", skills=["review"])]
    )
}
SKILLS = ConfigKind(
    name="skills",
    title="Skills",
    entry_name=_entry_name("skillName", "skill_name"),
    parse=skills.parse,
    entry_type=skills.SkillsConfig,
    list_type=skills.SkillsEntries,
    body=Content(skills.SkillsConfig, examples=_SKILLS_EXAMPLES),
    examples=_SKILLS_EXAMPLES,
)


def get_operation(kind: ConfigKind) -> Operation:
    return Operation(
        id=f"get{kind.title}Config",
        tag="config",
        summary=f"Read one {kind.name} entry",
        parameters=[DIRECTORY, kind.entry_name],
        responses={
            200: ResponseSpec("The entry, normalised", [Content(kind.entry_type, examples=kind.examples)])
        },
        errors=_ERRORS,
    )


def put_operation(kind: ConfigKind) -> Operation:
    return Operation(
        id=f"set{kind.title}Config",
        tag="config",
        summary=f"Write one {kind.name} entry",
        description="Unknown fields of this entry are dropped; other entries stay as they are.",
        parameters=[DIRECTORY, kind.entry_name],
        body=kind.body,
        responses={204: ResponseSpec("Stored", links=kind.links())},
        errors=[*_ERRORS, errors.PayloadTooLarge, errors.UnsupportedMediaType],
    )


def delete_operation(kind: ConfigKind) -> Operation:
    return Operation(
        id=f"delete{kind.title}Config",
        tag="config",
        summary=f"Remove one {kind.name} entry",
        parameters=[DIRECTORY, kind.entry_name],
        responses={204: ResponseSpec("Removed, now or before")},
        errors=_ERRORS,
    )


def list_operation(kind: ConfigKind) -> Operation:
    example = kind.list_type({"my-entry": next(iter(kind.examples.values()))}, UNSET)
    return Operation(
        id=f"list{kind.title}Config",
        tag="config",
        summary=f"Read all {kind.name} entries of a directory",
        description="An entry that cannot be decoded is listed under `invalid` with the reason.",
        parameters=[DIRECTORY],
        responses={200: ResponseSpec("The entries by name", [Content(kind.list_type, example)])},
        errors=_ERRORS,
    )
