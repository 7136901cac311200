"""`api health` and `api openapi`."""

from __future__ import annotations

import click

from sandbox_agent.cli.api.connection import Connection, with_connection
from sandbox_agent.cli.output import print_json
from sandbox_agent.sdk import json_codec


@click.command()
@with_connection
def health(connection: Connection) -> None:
    """Is the server up: exit code 0 if it is, 1 if not."""
    answer = connection.run(lambda api: api.request("GET", "/v1/health"))
    print_json(json_codec.decode(answer.content))


@click.command()
@with_connection
def openapi(connection: Connection) -> None:
    """Print the server's OpenAPI document."""
    answer = connection.run(lambda api: api.request("GET", "/openapi.json"))
    print_json(json_codec.decode(answer.content))
