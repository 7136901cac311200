"""`api agents report`: what can be chosen, agent by agent, in one document."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import click

from sandbox_agent.cli.api.connection import Connection, with_connection
from sandbox_agent.cli.output import print_json
from sandbox_agent.sdk import json_codec

_CATEGORIES = {"models": "model", "modes": "mode", "thoughtLevels": "thought_level"}


@click.command()
@with_connection
def report(connection: Connection) -> None:
    """Models, modes and thought levels of all agents, as JSON."""
    answer = connection.run(lambda api: api.request("GET", "/v1/agents", query={"config": True}))
    agents = json_codec.decode(answer.content)["agents"]
    print_json(
        {
            "generatedAtMs": int(time.time() * 1000),
            "endpoint": connection.endpoint,
            "agents": [_entry(agent) for agent in agents],
        }
    )


def _entry(agent: Mapping[str, Any]) -> dict[str, Any]:
    options = agent.get("configOptions", [])
    choices = {name: _choices(options, category) for name, category in _CATEGORIES.items()}
    return {"id": agent["id"], "installed": agent["installed"], **choices}


def _choices(options: Iterable[Mapping[str, Any]], category: str) -> dict[str, Any]:
    found = [option for option in options if option.get("category") == category]
    values = {
        value["value"]: value.get("name", value["value"])
        for option in found
        for value in _flat(option.get("options", []))
    }
    listed = [{"value": value, "name": name} for value, name in sorted(values.items())]
    current = next((option["currentValue"] for option in found if option.get("currentValue")), None)
    return ({"currentValue": current} if current else {}) | {"values": listed}


def _flat(options: Iterable[Mapping[str, Any]]) -> Iterable[Mapping[str, Any]]:
    """The values themselves, out of the groups that some agents put them in."""
    for option in options:
        if "options" in option:
            yield from _flat(option["options"])
        elif "value" in option:
            yield option
