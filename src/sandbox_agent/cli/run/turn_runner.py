"""One turn of `sandbox-agent run`: a server, an agent, a session and a prompt, all ended afterwards.

A named conversation is stored in a file of the user, and the next turn restores it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from textwrap import shorten

import click

from sandbox_agent.cli.api.install_progress import show_progress
from sandbox_agent.cli.run.renderer import Renderer
from sandbox_agent.cli.run.terminal_prompter import TerminalPrompter
from sandbox_agent.cli.run.turn_report import TurnReport
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.resources.models import AgentInfo
from sandbox_agent.sdk.session.session import AsyncSession
from sandbox_agent.settings import default_data_directory

_TITLE_CHARS = 60


@dataclass(frozen=True)
class TurnRequest:
    agent: str
    prompt: str
    directory: str | None
    attachments: tuple[str, ...] = ()
    model: str | None = None
    mode: str | None = None
    thought_level: str | None = None
    endpoint: str | None = None
    """A running server; None starts one."""
    token: str | None = None
    session: str | None = None
    """The name of a conversation to continue, or to begin; None for a single turn."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables for the server that is started, and so for its agents."""


async def run_turn(
    request: TurnRequest, prompter: TerminalPrompter, renderer: Renderer, report: TurnReport
) -> str:
    """Run the turn and return its stop reason; `report` gets its messages and events."""
    store = None if request.session is None else conversation_store()
    if request.endpoint is None:
        client = await AsyncSandboxAgent.start(
            spawn={"env": request.environment}, default_directory=request.directory, store=store
        )
    else:
        client = await AsyncSandboxAgent.connect(request.endpoint, request.token, store=store)
    async with client:
        session = await _continue(client, request, prompter)
        if session is None:
            session = await _begin(client, request, prompter)
            for event in await session.events():
                renderer.show(event)
        for what, reason in session.restored.not_applied.items():
            click.echo(f"{what} was not applied: {reason}", err=True)
        turn = session.stream(request.prompt, attachments=request.attachments)
        try:
            async with turn:
                async for event in turn:
                    report.events.append(event)
                    renderer.show(event)
                result = await turn.result()
        finally:
            # Leaving a turn ends it, so this is all of it: what one that is stopped has cost counts too.
            report.messages += [message async for message in turn.raw_events] if turn.done else []
        renderer.finish(result)
        return result.stop_reason


def conversation_store() -> str:
    """The file with the conversations of `run --session`."""
    directory = default_data_directory()
    os.makedirs(directory, mode=0o700, exist_ok=True)
    path = os.path.join(directory, "conversations.db")
    # Conversations are private; SQLite gives its further files the mode of the first.
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
    return path


async def _begin(client: AsyncSandboxAgent, request: TurnRequest, prompter: TerminalPrompter) -> AsyncSession:
    agent = await _prepared_agent(client, request.agent, prompter)
    return await client.sessions.create(
        request.agent,
        id=request.session,
        # With a title the agent asks no model for one: those tokens would be in no usage file.
        title=shorten(request.prompt, _TITLE_CHARS),
        directory=request.directory,
        model=request.model,
        mode=request.mode,
        thought_level=request.thought_level,
        use_directory_config=True,
        on_permission=None if agent.never_asks else prompter.decide,
        on_question=prompter.answer,
    )


async def _continue(
    client: AsyncSandboxAgent, request: TurnRequest, prompter: TerminalPrompter
) -> AsyncSession | None:
    """The conversation of that name; None if there is none yet."""
    known = None if request.session is None else await client.store.get_session(request.session)
    if known is None:
        return None
    if known.agent != request.agent:
        raise click.UsageError(f"the conversation {known.id} is one with {known.agent}")
    agent = await _prepared_agent(client, request.agent, prompter)
    decide = None if agent.never_asks else prompter.decide
    session = await client.sessions.resume(known.id, on_permission=decide, on_question=prompter.answer)
    if session.directory != request.directory:
        click.echo(f"the conversation {known.id} takes place in {session.directory}", err=True)
    if not session.restored.history_carried:
        click.echo("the agent cannot load its session; it gets the history as text", err=True)
    if request.mode is not None:
        await session.set_mode(request.mode)
    if request.model is not None:
        await session.set_model(request.model)
    if request.thought_level is not None:
        await session.set_thought_level(request.thought_level)
    return session


async def _prepared_agent(client: AsyncSandboxAgent, agent: str, prompter: TerminalPrompter) -> AgentInfo:
    """Install a missing agent, with progress; say what the user should know before it starts."""
    info = await client.agents.get(agent)
    prompter.check_agent(info)
    if not info.installed:
        await client.agents.install(agent, on_progress=show_progress)
    if not info.credentials_available:
        click.echo(f"no credentials for {agent} were found; see `sandbox-agent credentials status`", err=True)
    return info
