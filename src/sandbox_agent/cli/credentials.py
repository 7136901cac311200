"""`sandbox-agent credentials`: the API keys found on this machine and the agents that can use them.

Keys are shown redacted. Only `extract --reveal` and `extract-env` print them.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from sandbox_agent.agents.catalog.catalog import Catalog
from sandbox_agent.agents.credentials import Credential, available_for, discover, environment_of
from sandbox_agent.cli.lazy_group import LazyGroup
from sandbox_agent.cli.output import OutputFormat, output_option, print_json, show

_MAIN_PROVIDERS = ("anthropic", "openai")
_PARTLY_SHOWN_FROM = 20  # seven characters of a shorter secret would reveal too much
_PROVIDERS_OF_AGENT = {
    "claude": ("anthropic",),
    "amp": ("anthropic",),
    "codex": ("openai",),
    "opencode": ("anthropic", "openai"),
}


def _search_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option("--no-oauth", is_flag=True, help="Only API keys."),
        click.option(
            "-d",
            "--home-dir",
            type=click.Path(file_okay=False, path_type=Path),
            help="Search for files here instead of in the home directory.",
        ),
    ):
        command = option(command)
    return command


@click.group(cls=LazyGroup)
def credentials() -> None:
    """Show the API keys found on this machine and the agents that can use them."""


@credentials.command()
@click.option(
    "-a", "--agent", type=click.Choice(list(_PROVIDERS_OF_AGENT)), help="Only the keys of this agent."
)
@click.option("-p", "--provider", help="Only this provider, such as anthropic.")
@click.option("-r", "--reveal", is_flag=True, help="Show the keys themselves.")
@_search_options
def extract(
    agent: str | None, provider: str | None, reveal: bool, home_dir: Path | None, no_oauth: bool
) -> int:
    """Print the found keys as JSON, redacted unless --reveal; exit code 1 if -a or -p matches none."""
    found = discover(home=home_dir, include_oauth=not no_oauth)
    wanted = _PROVIDERS_OF_AGENT.get(agent or "", tuple(found))
    shown = {
        name: _record(credential, reveal)
        for name, credential in found.items()
        if name in wanted and provider in (None, name)
    }
    known = {name: record for name, record in shown.items() if name in _MAIN_PROVIDERS}
    others = {name: record for name, record in shown.items() if name not in known}
    if agent is None and provider is None:
        print_json({name: known.get(name) for name in _MAIN_PROVIDERS} | {"other": others})
        return 0
    print_json(known | ({"other": others} if others else {}))
    return 0 if shown else 1


def _redacted(secret: str) -> str:
    """The secret with its middle left out; short ones are hidden whole."""
    return f"{secret[:3]}...{secret[-4:]}" if len(secret) >= _PARTLY_SHOWN_FROM else "***"


def _record(credential: Credential, reveal: bool) -> dict[str, str]:
    return {
        "api_key": credential.api_key if reveal else _redacted(credential.api_key),
        "source": credential.source,
        "auth_type": credential.auth_type,
        "provider": credential.provider,
    }


@credentials.command("extract-env")
@click.option("-e", "--export", is_flag=True, help="Put `export` in front, for `eval`.")
@_search_options
def extract_env(export: bool, home_dir: Path | None, no_oauth: bool) -> None:
    """Print the found keys as shell variables, not redacted."""
    found = discover(home=home_dir, include_oauth=not no_oauth)
    for name, value in environment_of(found).items():
        click.echo(f"{'export ' if export else ''}{name}={shlex.quote(value)}")


@credentials.command()
@output_option
@_search_options
def status(output: OutputFormat, home_dir: Path | None, no_oauth: bool) -> None:
    """Show for each agent whether a key that it reads was found, as `GET /v1/agents` does; shows no keys."""
    found = discover(home=home_dir, include_oauth=not no_oauth)
    catalog = Catalog.load(_agents_file())
    specs = [catalog.get(agent_id) for agent_id in catalog.ids()]
    agents: list[dict[str, Any]] = [
        {
            "agent": spec.id,
            "credentialsAvailable": available_for(spec, home=home_dir),
            "reads": list(spec.credentials),
        }
        for spec in specs
    ]
    providers = {name: {"source": one.source, "auth_type": one.auth_type} for name, one in found.items()}
    show(
        {"providers": providers, "agents": agents},
        output,
        ("agent", "credentials", "reads"),
        lambda: ((a["agent"], a["credentialsAvailable"], ", ".join(a["reads"])) for a in agents),
    )


def _agents_file() -> Path | None:
    named = os.environ.get("SANDBOX_AGENT_AGENTS_FILE")
    return Path(named) if named else None
