"""The command line of `sandbox-agent run` and what its exit codes mean."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import click

from sandbox_agent.cli.agent_completion import offer_agents
from sandbox_agent.cli.token_options import token_file_option

EXIT_CODES = {"end_turn": 0, "refusal": 3, "max_tokens": 4, "max_turn_requests": 5, "cancelled": 130}
FAILED = 1


@click.command()
@click.argument("agent", shell_complete=offer_agents)
@click.argument("prompt", required=False)
@click.option(
    "--approve",
    type=click.Choice(["reads", "all", "none"]),
    help="Which tools may run without asking: those that only read, all, or none. Without this option you "
    "are asked each time; where nobody can be asked, the answer is no.",
)
@click.option("--json", "as_json", is_flag=True, help="Print universal events, one JSON object a line.")
@click.option("-m", "--model", help="Model to use.")
@click.option("--mode", help="Mode of the agent, such as plan.")
@click.option("--thought-level", help="How hard to think.")
@click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the agent works; here by default.",
)
@click.option(
    "-a", "--attach", multiple=True, type=click.Path(path_type=Path), help="File for the agent to see."
)
@click.option("-q", "--quiet", is_flag=True, help="Only the agent's words, no tools and notices.")
@click.option("-e", "--endpoint", help="Use this server instead of starting one.")
@token_file_option
@click.pass_context
def run(
    ctx: click.Context,
    agent: str,
    prompt: str | None,
    approve: str | None,
    as_json: bool,
    model: str | None,
    mode: str | None,
    thought_level: str | None,
    directory: Path | None,
    attach: tuple[Path, ...],
    quiet: bool,
    endpoint: str | None,
    token_file: str | None,
) -> int:
    """Ask AGENT one thing and show what it does about it. PROMPT is read from stdin if it is - or missing.

    The agent's words go to stdout, everything else to stderr. A server is started for the purpose and
    ends with the command; an agent that is not installed is installed first.

    Exit codes: 0 the agent finished, 1 something failed, 2 wrong usage, 3 the agent refused, 4 it ran out of
    tokens, 5 it ran out of turns, 130 cancelled.
    """
    from sandbox_agent.cli.api.connection import token_for
    from sandbox_agent.cli.run.one_turn import OneTurn, hold
    from sandbox_agent.cli.run.renderer import JsonLines, Screen
    from sandbox_agent.cli.run.terminal_prompter import TerminalPrompter

    words = _read_prompt(prompt)
    person = TerminalPrompter(
        approve, can_ask=not as_json and sys.stdin.isatty() and prompt not in (None, "-")
    )
    errand = OneTurn(
        agent=agent,
        prompt=words,
        directory=str((directory or Path.cwd()).absolute()) if endpoint is None else _remote(directory),
        attachments=tuple(str(path.absolute()) for path in attach),
        model=model,
        mode=mode,
        thought_level=thought_level,
        endpoint=endpoint,
        token=token_for(ctx, endpoint, token_file) if endpoint else None,
    )
    screen = JsonLines() if as_json else Screen(quiet=quiet)
    stop_reason = asyncio.run(hold(errand, person, screen))
    return EXIT_CODES.get(stop_reason, FAILED)


def _read_prompt(prompt: str | None) -> str:
    if prompt is None and sys.stdin.isatty():
        raise click.UsageError("what should the agent do? Give a PROMPT, or pipe it in.")
    words = sys.stdin.read() if prompt in (None, "-") else prompt
    if words is None or not words.strip():
        raise click.UsageError("the prompt is empty")
    return words


def _remote(directory: Path | None) -> str | None:
    """A directory on another machine is taken as it is."""
    return os.fspath(directory) if directory is not None else None
