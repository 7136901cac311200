"""`api fs`: files and directories of the sandbox."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO, Any

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.output import OutputFormat, output_option, print_json, show
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.transport.http_api import HttpApi

COLUMNS = ("name", "kind", "size", "modified")


@click.command()
@click.argument("path", required=False)
@output_option
@with_connection
def ls(connection: ApiConnection, path: str | None, output: OutputFormat) -> None:
    """List a directory, by default the home directory."""
    listed = connection.request("GET", "/v1/fs/entries", query={"path": path})
    entries = sorted(listed, key=lambda entry: str(entry["name"]))
    show(
        entries,
        output,
        COLUMNS,
        lambda: ((e["name"], e["entryType"], e["size"], e.get("modified")) for e in entries),
    )


@click.command()
@click.argument("path")
@with_connection
def cat(connection: ApiConnection, path: str) -> None:
    """Write a file to stdout."""

    async def copy(api: HttpApi) -> None:
        async with AsyncFiles(api).stream(path) as chunks:
            async for chunk in chunks:
                sys.stdout.buffer.write(chunk)

    connection.run(copy)
    sys.stdout.buffer.flush()


@click.command()
@click.argument("path")
@click.argument("local", type=click.Path(path_type=Path), required=False)
@with_connection
def get(connection: ApiConnection, path: str, local: Path | None) -> None:
    """Copy the file PATH of the sandbox to LOCAL, by default to its name in this directory."""
    target = local or Path(Path(path).name)
    if target.is_dir():
        target /= Path(path).name
    size = connection.run(lambda api: AsyncFiles(api).download(path, target))
    print_json({"path": str(target), "bytesWritten": size})


@click.command()
@click.argument("local", type=click.File("rb"))
@click.argument("path")
@with_connection
def put(connection: ApiConnection, local: IO[bytes], path: str) -> None:
    """Copy the file LOCAL (- for stdin) to PATH in the sandbox; parents are created."""
    size = connection.run(lambda api: AsyncFiles(api).write(path, local))
    print_json({"path": path, "bytesWritten": size})


@click.command()
@click.argument("path")
@with_connection
def stat(connection: ApiConnection, path: str) -> None:
    """Show one file or directory."""
    print_json(connection.request("GET", "/v1/fs/stat", query={"path": path}))


@click.command()
@click.argument("path")
@with_connection
def mkdir(connection: ApiConnection, path: str) -> None:
    """Create a directory and its parents; an existing one is no error."""
    print_json(connection.request("POST", "/v1/fs/mkdir", query={"path": path}))


@click.command()
@click.argument("source")
@click.argument("target")
@click.option("--overwrite", is_flag=True, help="Replace an existing TARGET.")
@with_connection
def mv(connection: ApiConnection, source: str, target: str, overwrite: bool) -> None:
    """Move or rename SOURCE to TARGET."""
    body: dict[str, Any] = {"from": source, "to": target, "overwrite": overwrite}
    print_json(connection.request("POST", "/v1/fs/move", json=body))


@click.command()
@click.argument("path")
@click.option("-r", "--recursive", is_flag=True, help="Also a directory that is not empty.")
@with_connection
def rm(connection: ApiConnection, path: str, recursive: bool) -> None:
    """Delete a file, link or directory."""
    query = {"path": path, "recursive": recursive or None}
    print_json(connection.request("DELETE", "/v1/fs/entry", query=query))


@click.command()
@click.argument("local", type=click.Path(exists=True, path_type=Path))
@click.argument("path", required=False)
@with_connection
def upload(connection: ApiConnection, local: Path, path: str | None) -> None:
    """Copy the directory LOCAL, or unpack the tar file LOCAL, into PATH of the sandbox."""
    if local.is_dir():
        result = connection.run(lambda api: AsyncFiles(api).upload_dir(local, path or "."))
    else:
        with local.open("rb") as archive:
            result = connection.run(lambda api: AsyncFiles(api).upload_tar(archive, path))
    print_json({"paths": result.paths, "truncated": result.truncated})


@click.command()
@click.argument("path")
@click.argument("local", type=click.Path(file_okay=False, path_type=Path))
@with_connection
def download(connection: ApiConnection, path: str, local: Path) -> None:
    """Copy the directory PATH of the sandbox to LOCAL."""
    connection.run(lambda api: AsyncFiles(api).download_dir(path, local))
    print_json({"path": str(local)})
