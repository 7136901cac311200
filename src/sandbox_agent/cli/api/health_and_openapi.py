"""`api health` and `api openapi`."""

from __future__ import annotations

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.output import print_json
from sandbox_agent.sdk import json_codec


@click.command()
@with_connection
def health(connection: ApiConnection) -> None:
    """Check whether the server is up: exit code 0 if it is, else 1."""
    response = connection.run(lambda api: api.request("GET", "/v1/health"))
    print_json(json_codec.decode(response.content))


@click.command()
@with_connection
def openapi(connection: ApiConnection) -> None:
    """Print the server's OpenAPI document."""
    response = connection.run(lambda api: api.request("GET", "/openapi.json"))
    print_json(json_codec.decode(response.content))
