"""`sandbox-agent run`: options and exit codes."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import click

from sandbox_agent.cli.api.server_token import token_for
from sandbox_agent.cli.options.agent_completion import complete_agent
from sandbox_agent.cli.options.model_options import (
    model_base_url_option,
    model_key_env_option,
    model_variables,
    session_model,
)
from sandbox_agent.cli.options.new_file import NEW_FILE
from sandbox_agent.cli.options.token_options import token_file_option
from sandbox_agent.cli.run.interrupts import interrupt_on_sigterm
from sandbox_agent.cli.run.renderer import JsonLinesRenderer, TerminalRenderer
from sandbox_agent.cli.run.terminal_prompter import TerminalPrompter
from sandbox_agent.cli.run.turn_report import TurnReport
from sandbox_agent.cli.run.turn_runner import TurnRequest, run_turn

EXIT_CODES = {
    "end_turn": 0,
    "refusal": 3,
    "max_tokens": 4,
    "max_turn_requests": 5,
    "timeout": 124,
    "cancelled": 130,
}
FAILED = 1


@click.command()
@click.argument("agent", shell_complete=complete_agent)
@click.argument("prompt", required=False)
@click.option(
    "--approve",
    type=click.Choice(["reads", "all", "none"]),
    help="Tools that run without asking: those that only read, all, or none. Without this option every tool "
    "asks; without a terminal it is refused.",
)
@click.option("--json", "as_json", is_flag=True, help="Print universal events, one JSON object per line.")
@click.option("-m", "--model", help="Model to use.")
@click.option("--mode", help="Mode of the agent, such as plan.")
@click.option("--thought-level", help="Thought level of the agent.")
@click.option(
    "-d",
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    help="Working directory of the agent; by default this one.",
)
@click.option(
    "-a", "--attach", multiple=True, type=click.Path(path_type=Path), help="File to attach to the prompt."
)
@click.option(
    "-s",
    "--session",
    help="Name of a conversation: continues it, or begins it. Without a name each turn stands alone.",
)
@click.option("-q", "--quiet", is_flag=True, help="Show only the agent's text, no tools and notices.")
@click.option("-e", "--endpoint", help="Use this server instead of starting one.")
@model_base_url_option
@model_key_env_option
@click.option("--atif", type=NEW_FILE, help="Write the trajectory to this file (ATIF v1.8).")
@click.option("--usage", type=NEW_FILE, help="Write tokens, cost and stop reason to this file.")
@click.option(
    "--timeout-s", type=click.FloatRange(min=0.1), help="Give up after so many seconds: exit code 124."
)
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
    session: str | None,
    quiet: bool,
    endpoint: str | None,
    model_base_url: str | None,
    model_key_env: str | None,
    atif: Path | None,
    usage: Path | None,
    timeout_s: float | None,
    token_file: str | None,
) -> int:
    """Send PROMPT to AGENT and show the turn. PROMPT is read from stdin if it is - or missing.

    The agent's text goes to stdout, everything else to stderr. The command starts a server and stops it at
    the end. An agent that is not installed is installed first. With --session the next turn continues the
    conversation.

    Exit codes: 0 the agent finished, 1 failure, 2 wrong usage, 3 the agent refused, 4 out of tokens, 5 out of
    turns, 124 out of time, 130 cancelled.
    """
    if session is not None and not session.strip():
        raise click.UsageError("the name of the conversation is empty")
    text = _read_prompt(prompt)
    if model_base_url is not None and endpoint is not None:
        raise click.UsageError("--model-base-url is for a server that this command starts")
    prompter = TerminalPrompter(
        approve, can_ask=not as_json and sys.stdin.isatty() and prompt not in (None, "-")
    )
    request = TurnRequest(
        agent=agent,
        prompt=text,
        directory=str((directory or Path.cwd()).absolute()) if endpoint is None else _remote(directory),
        attachments=tuple(str(path.absolute()) for path in attach),
        model=session_model(model_base_url, model, agent),
        mode=mode,
        thought_level=thought_level,
        endpoint=endpoint,
        token=token_for(ctx, endpoint, token_file) if endpoint else None,
        session=session,
        environment=model_variables(model_base_url, model_key_env, model, agent),
    )
    renderer = JsonLinesRenderer() if as_json else TerminalRenderer(quiet=quiet)
    report = TurnReport(agent, model, atif, usage)
    interrupt_on_sigterm()
    try:
        stop_reason = asyncio.run(_limited(run_turn(request, prompter, renderer, report), timeout_s))
    except TimeoutError:
        click.echo(f"stopped: not done within {timeout_s:g} s", err=True)
        stop_reason = "timeout"
    except BaseException as error:
        report.write("cancelled" if isinstance(error, KeyboardInterrupt) else "failed")
        raise
    report.write(stop_reason)
    return EXIT_CODES.get(stop_reason, FAILED)


async def _limited(turn: Coroutine[Any, Any, str], timeout_s: float | None) -> str:
    async with asyncio.timeout(timeout_s):
        return await turn


def _read_prompt(prompt: str | None) -> str:
    if prompt is None and sys.stdin.isatty():
        raise click.UsageError("PROMPT is missing; give it as an argument or on stdin")
    text = sys.stdin.read() if prompt in (None, "-") else prompt
    if text is None or not text.strip():
        raise click.UsageError("the prompt is empty")
    return text


def _remote(directory: Path | None) -> str | None:
    """A directory on the server is used as it is."""
    return os.fspath(directory) if directory is not None else None
