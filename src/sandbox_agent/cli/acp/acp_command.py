"""`sandbox-agent acp`: options, and the choice between the local and the remote form."""

from __future__ import annotations

from pathlib import Path

import click

from sandbox_agent.cli.acp.directory_map import DirectoryMap
from sandbox_agent.cli.api.server_token import token_for
from sandbox_agent.cli.options.agent_completion import complete_agent
from sandbox_agent.cli.options.token_options import token_file_option


@click.command()
@click.option("-a", "--agent", required=True, shell_complete=complete_agent, help="Agent to run.")
@click.option("--url", envvar="SANDBOX_AGENT_URL", show_envvar=True, help="Run the agent on this server.")
@token_file_option
@click.option(
    "--server-id",
    help="Id of the instance on the server, which is kept at the end and used again by the next start. "
    "Without it the instance has an id of its own and is deleted at the end.",
)
@click.option(
    "--map",
    "mapped",
    multiple=True,
    metavar="LOCAL=REMOTE",
    help="Working directories below LOCAL become directories below REMOTE on the server.",
)
@click.option(
    "--reconnect-for",
    type=click.FloatRange(0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="How long an unreachable server is tried before its open requests fail.",
)
@click.option(
    "--agents-file", type=click.Path(path_type=Path), help="Catalogue of additional agents (local form)."
)
@click.pass_context
def acp(
    ctx: click.Context,
    agent: str,
    url: str | None,
    token_file: str | None,
    server_id: str | None,
    mapped: tuple[str, ...],
    reconnect_for: float,
    agents_file: Path | None,
) -> int:
    """Be an ACP agent on stdin and stdout, for editors and tools that start a command.

    Without --url the agent runs here, and is installed first if it is missing. With --url it runs on that
    sandbox-agent server. Nothing is left running when the editor ends.

    Exit codes: 0 the editor ended the connection, 1 the agent or the server was lost, 2 wrong usage; without
    --url the agent's own exit code.
    """
    if url is None:
        if server_id is not None or mapped:
            raise click.UsageError("--server-id and --map need --url")
        from sandbox_agent.cli.acp.local_agent import run_local  # only what the form needs is loaded

        return run_local(agent, agents_file)
    if agents_file is not None:
        raise click.UsageError("--agents-file is an option of the server when --url is given")
    if server_id is not None and not server_id:
        raise click.UsageError("--server-id is empty")
    try:
        directories = DirectoryMap.parse(mapped)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    token = token_for(ctx, url, token_file)
    from sandbox_agent.cli.acp.remote_agent import RemoteAgent

    return RemoteAgent(url, token, agent, server_id, directories, reconnect_for).run()
