"""`api config mcp` and `api config skills`: the same four commands for both kinds of entries."""

from __future__ import annotations

import os
from typing import IO, Any

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.lazy_group import LazyGroup
from sandbox_agent.cli.output import OutputFormat, output_option, print_json, show

_directory = click.option(
    "-d",
    "--directory",
    default=os.getcwd,
    help="Directory of the sandbox that the entries belong to; by default this one.",
)


def _entries(kind: str, name_parameter: str, help: str) -> click.Group:
    path = f"/v1/config/{kind}"
    commands = [
        _list(path),
        _get(path, name_parameter),
        _set(path, name_parameter),
        _delete(path, name_parameter),
    ]
    return LazyGroup(kind, commands=commands, help=help)


def _list(path: str) -> click.Command:
    @click.command("list")
    @_directory
    @output_option
    @with_connection
    def list_entries(connection: ApiConnection, directory: str, output: OutputFormat) -> None:
        """List all entries of the directory."""
        query = {"directory": directory}
        document = connection.request("GET", f"{path}/entries", query=query)
        show(
            document,
            output,
            ("name", "entry"),
            lambda: ((name, _summary(entry)) for name, entry in document["entries"].items()),
        )

    return list_entries


def _get(path: str, name_parameter: str) -> click.Command:
    @click.command("get")
    @click.argument("name")
    @_directory
    @with_connection
    def get(connection: ApiConnection, name: str, directory: str) -> None:
        """Show one entry."""
        query = {"directory": directory, name_parameter: name}
        print_json(connection.request("GET", path, query=query))

    return get


def _set(path: str, name_parameter: str) -> click.Command:
    @click.command("set")
    @click.argument("name")
    @click.option("--json", "text", help="The entry.")
    @click.option("--json-file", type=click.File("rb"), help="File with the entry; - for stdin.")
    @_directory
    @with_connection
    def set_entry(
        connection: ApiConnection, name: str, text: str | None, json_file: IO[bytes] | None, directory: str
    ) -> None:
        """Write one entry."""
        if (text is None) == (json_file is None):
            raise click.UsageError("give the entry with either --json or --json-file")
        content = text.encode() if text is not None else (json_file.read() if json_file else b"")
        query = {"directory": directory, name_parameter: name}
        headers = {"content-type": "application/json"}
        connection.run(lambda api: api.request("PUT", path, query=query, content=content, headers=headers))

    return set_entry


def _delete(path: str, name_parameter: str) -> click.Command:
    @click.command("delete")
    @click.argument("name")
    @_directory
    @with_connection
    def delete(connection: ApiConnection, name: str, directory: str) -> None:
        """Remove one entry; a missing one is no error."""
        query = {"directory": directory, name_parameter: name}
        connection.run(lambda api: api.request("DELETE", path, query=query))

    return delete


def _summary(entry: dict[str, Any]) -> str:
    if "sources" in entry:
        return ", ".join(f"{one.get('type')}: {one.get('source')}" for one in entry["sources"])
    if "url" in entry:
        return str(entry["url"])
    command = entry.get("command", "")
    argv = command if isinstance(command, list) else [command]
    return " ".join(str(argument) for argument in (*argv, *entry.get("args", [])))


mcp = _entries("mcp", "mcpName", "MCP servers of a directory.")
skills = _entries("skills", "skillName", "Skills of a directory.")
