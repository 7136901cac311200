"""`api fs upload` and `download`: whole directories, as one stream."""

from __future__ import annotations

from pathlib import Path

import click

from sandbox_agent.cli.api.connection import Connection, with_connection
from sandbox_agent.cli.output import print_json
from sandbox_agent.sdk.resources.files import AsyncFiles


@click.command()
@click.argument("local", type=click.Path(exists=True, path_type=Path))
@click.argument("path", required=False)
@with_connection
def upload(connection: Connection, local: Path, path: str | None) -> None:
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
def download(connection: Connection, path: str, local: Path) -> None:
    """Copy the directory PATH of the sandbox to LOCAL."""
    connection.run(lambda api: AsyncFiles(api).download_dir(path, local))
    print_json({"path": str(local)})
