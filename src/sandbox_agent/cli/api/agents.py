"""`api agents`: list, show, install and report."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from sandbox_agent.cli.api.api_connection import ApiConnection, with_connection
from sandbox_agent.cli.api.install_progress import show_progress
from sandbox_agent.cli.options.agent_completion import complete_agent
from sandbox_agent.cli.output import OutputFormat, Row, output_option, print_json, show
from sandbox_agent.sdk.resources.install_progress import install
from sandbox_agent.sdk.transport.http_api import segment

_REPORT_CATEGORIES = {"models": "model", "modes": "mode", "thoughtLevels": "thought_level"}
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
@click.option("--no-cache", is_flag=True, help="Do not use cached versions.")
@output_option
@with_connection
def list_agents(connection: ApiConnection, config: bool, no_cache: bool, output: OutputFormat) -> None:
    """List all agents of the server."""
    query = {"config": config or None, "no_cache": no_cache or None}
    document = connection.request("GET", "/v1/agents", query=query)
    show(document, output, COLUMNS, lambda: _rows(document["agents"]))


@click.command("show")
@click.argument("agent", shell_complete=complete_agent)
@click.option("--no-cache", is_flag=True, help="Do not use the cached version.")
@with_connection
def show_agent(connection: ApiConnection, agent: str, no_cache: bool) -> None:
    """Show one agent with version, models and modes."""
    query = {"config": True, "no_cache": no_cache or None}
    print_json(connection.request("GET", f"/v1/agents/{segment(agent)}", query=query))


@click.command("install")
@click.argument("agent", shell_complete=complete_agent)
@click.option("-r", "--reinstall", is_flag=True, help="Install again, also if installed.")
@click.option("--agent-version", help="Version of the agent itself.")
@click.option("--agent-process-version", help="Version of its ACP adapter.")
@with_connection
def install_agent(
    connection: ApiConnection,
    agent: str,
    reinstall: bool,
    agent_version: str | None,
    agent_process_version: str | None,
) -> None:
    """Install an agent on the server; progress goes to stderr."""
    options = {
        "reinstall": reinstall or None,
        "agentVersion": agent_version,
        "agentProcessVersion": agent_process_version,
    }
    body = {name: value for name, value in options.items() if value is not None}
    print_json(connection.run(lambda api: install(api, agent, body, show_progress)))


@click.command()
@with_connection
def report(connection: ApiConnection) -> None:
    """Print models, modes and thought levels of all agents as JSON.

    `configStatus` is `known` if the agent has reported them.
    """
    agents = connection.request("GET", "/v1/agents", query={"config": True})["agents"]
    print_json(
        {
            "generatedAtMs": int(time.time() * 1000),
            "endpoint": connection.endpoint,
            "agents": [_report_entry(agent) for agent in agents],
        }
    )


def _report_entry(agent: Mapping[str, Any]) -> dict[str, Any]:
    options = agent.get("configOptions", [])
    choices = {name: _choices(options, category) for name, category in _REPORT_CATEGORIES.items()}
    status = {"configStatus": agent["configStatus"]} if "configStatus" in agent else {}
    return {"id": agent["id"], "installed": agent["installed"], **status, **choices}


def _choices(options: Iterable[Mapping[str, Any]], category: str) -> dict[str, Any]:
    found = [option for option in options if option.get("category") == category]
    values = {
        value["value"]: value.get("name", value["value"])
        for option in found
        for value in _flattened(option.get("options", []))
    }
    listed = [{"value": value, "name": name} for value, name in sorted(values.items())]
    current = next((option["currentValue"] for option in found if option.get("currentValue")), None)
    return ({"currentValue": current} if current else {}) | {"values": listed}


def _flattened(options: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """The values without the groups that some agents put them in."""
    for option in options:
        if "options" in option:
            yield from _flattened(option["options"])
        elif "value" in option:
            yield option
