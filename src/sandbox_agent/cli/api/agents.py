"""`api agents list`, `show` and `install`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from sandbox_agent.cli.agent_completion import offer_agents
from sandbox_agent.cli.api.connection import Connection, with_connection
from sandbox_agent.cli.api.install_progress import install
from sandbox_agent.cli.output import OutputForm, Row, output_option, print_json, show
from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.transport.http_api import segment

COLUMNS = ("agent", "installed", "credentials", "running", "version")


def _rows(agents: Iterable[dict[str, Any]]) -> Iterable[Row]:
    for agent in agents:
        status = agent.get("serverStatus", {}).get("status") == "running"
        yield (
            agent["id"],
            agent["installed"],
            agent["credentialsAvailable"],
            status,
            agent.get("version"),
        )


@click.command("list")
@click.option("--config", is_flag=True, help="Also versions, models and modes.")
@click.option("--no-cache", is_flag=True, help="Look up versions anew.")
@output_option
@with_connection
def list_agents(connection: Connection, config: bool, no_cache: bool, output: OutputForm) -> None:
    """All agents the server knows."""
    query = {"config": config or None, "no_cache": no_cache or None}
    answer = connection.run(lambda api: api.request("GET", "/v1/agents", query=query))
    document = json_codec.decode(answer.content)
    show(document, output, COLUMNS, lambda: _rows(document["agents"]))


@click.command("show")
@click.argument("agent", shell_complete=offer_agents)
@click.option("--no-cache", is_flag=True, help="Look up the version anew.")
@with_connection
def show_agent(connection: Connection, agent: str, no_cache: bool) -> None:
    """One agent, with version, models and modes."""
    query = {"config": True, "no_cache": no_cache or None}
    answer = connection.run(lambda api: api.request("GET", f"/v1/agents/{segment(agent)}", query=query))
    print_json(json_codec.decode(answer.content))


@click.command("install")
@click.argument("agent", shell_complete=offer_agents)
@click.option("-r", "--reinstall", is_flag=True, help="Install again, also if it is there.")
@click.option("--agent-version", help="Version of the agent itself.")
@click.option("--agent-process-version", help="Version of its ACP adapter.")
@with_connection
def install_agent(
    connection: Connection,
    agent: str,
    reinstall: bool,
    agent_version: str | None,
    agent_process_version: str | None,
) -> None:
    """Install an agent on the server; progress goes to stderr."""
    wishes = {
        "reinstall": reinstall or None,
        "agentVersion": agent_version,
        "agentProcessVersion": agent_process_version,
    }
    body = {name: value for name, value in wishes.items() if value is not None}
    print_json(connection.run(lambda api: install(api, agent, body)))
