"""`api health` and `api openapi`."""

from __future__ import annotations

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.output import print_json


@click.command()
@with_connection
def health(connection: ApiConnection) -> None:
    """Check whether the server is up: exit code 0 if it is, else 1."""
    print_json(connection.request("GET", "/v1/health"))


@click.command()
@with_connection
def openapi(connection: ApiConnection) -> None:
    """Print the server's OpenAPI document."""
    print_json(connection.request("GET", "/openapi.json"))
