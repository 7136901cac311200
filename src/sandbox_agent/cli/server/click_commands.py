"""`server`, `mock-agent`, `adapter` and `mcp-relay` as click commands, for help and shell completion.

`main.py` starts them without click. These callbacks run only if options that it does not know precede the
command.
"""

from __future__ import annotations

import sys
from typing import Any

import click

from sandbox_agent import settings
from sandbox_agent.agents.adapters.main import ADAPTER_NAMES
from sandbox_agent.agents.adapters.main import main as run_adapter
from sandbox_agent.agents.mock.main import main as run_mock_agent
from sandbox_agent.cli.mcp_relay import main as run_mcp_relay
from sandbox_agent.cli.server import server_command

_TOKEN_FIELDS = ("token", "no_token")  # every command gets these two


def _options() -> list[click.Parameter]:
    options: list[click.Parameter] = []
    for item in settings.SETTINGS:
        if item.name not in _TOKEN_FIELDS:
            kind: dict[str, Any] = {"is_flag": True} if isinstance(item.default, bool) else {}
            options.append(
                click.Option(
                    [item.name, *item.flags],
                    help=item.help,
                    multiple=isinstance(item.default, tuple),
                    **kind,
                )
            )
    return options


def _serve(**_: Any) -> int:
    arguments = sys.argv[1:]
    arguments.remove("server")
    return server_command.run(arguments)


def _adapter(name: str, program: str | None) -> int:
    return run_adapter([name, *(("--program", program) if program else ())])


def _mock_agent() -> int:
    return run_mock_agent()


server = click.Command("server", params=_options(), callback=_serve, help="Run the server in the foreground.")
adapter = click.Command(
    "adapter",
    params=[
        click.Argument(["name"], type=click.Choice(ADAPTER_NAMES)),
        click.Option(["--program"], metavar="FILE", help="The vendor's program; by default the one on PATH."),
    ],
    callback=_adapter,
    help="Speak ACP on stdin and stdout around a vendor's own program.",
)
mcp_relay = click.Command(
    "mcp-relay",
    callback=run_mcp_relay,
    help="Offer the tools of a client of the server to an agent, as an MCP server on stdin and stdout.",
)
mock_agent = click.Command(
    "mock-agent",
    callback=_mock_agent,
    help="Speak ACP on stdin and stdout, as a scripted agent.",
)
