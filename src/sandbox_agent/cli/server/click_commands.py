"""`server`, `mock-agent` and `adapter` as click sees them, for the list of commands and shell completion.

They are started by `entry.py` without click. What is here runs only if click is asked for them in a way the
entry does not understand, and then hands over.
"""

from __future__ import annotations

from typing import Any

import click

from sandbox_agent import settings
from sandbox_agent.agents.adapters.entry import ADAPTER_NAMES

_TOKEN_FIELDS = ("token", "no_token")  # every command has these two anyway


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
    import sys

    from sandbox_agent.cli.server import command

    words = sys.argv[1:]
    words.remove("server")
    return command.run(words)


def _adapter(name: str, program: str | None) -> int:
    from sandbox_agent.agents.adapters.entry import main

    return main([name, *(("--program", program) if program else ())])


def _mock_agent() -> int:
    from sandbox_agent.agents.mock.entry import main

    return main()


server = click.Command("server", params=_options(), callback=_serve, help="Run the server in the foreground.")
adapter = click.Command(
    "adapter",
    params=[
        click.Argument(["name"], type=click.Choice(ADAPTER_NAMES)),
        click.Option(
            ["--program"], metavar="FILE", help="The vendor's program; the one on PATH if not given."
        ),
    ],
    callback=_adapter,
    help="Speak ACP on stdin and stdout around a vendor's own program.",
)
mock_agent = click.Command(
    "mock-agent",
    callback=_mock_agent,
    help="Speak ACP on stdin and stdout, as a scripted agent.",
)
