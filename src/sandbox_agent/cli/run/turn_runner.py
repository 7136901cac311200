"""One turn of `sandbox-agent run`: a server, an agent, a session and a prompt, all ended afterwards."""

from __future__ import annotations

from dataclasses import dataclass

import click

from sandbox_agent.cli.api.install_progress import show_progress
from sandbox_agent.cli.run.renderer import Renderer
from sandbox_agent.cli.run.terminal_prompter import TerminalPrompter
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.resources.models import AgentInfo


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


async def run_turn(request: TurnRequest, prompter: TerminalPrompter, renderer: Renderer) -> str:
    """Run the turn and return its stop reason."""
    if request.endpoint is None:
        client = await AsyncSandboxAgent.start(default_directory=request.directory)
    else:
        client = await AsyncSandboxAgent.connect(request.endpoint, request.token)
    async with client:
        agent = await _prepared_agent(client, request.agent, prompter)
        session = await client.sessions.create(
            request.agent,
            directory=request.directory,
            model=request.model,
            mode=request.mode,
            thought_level=request.thought_level,
            use_directory_config=True,
            on_permission=None if agent.never_asks else prompter.decide,
            on_question=prompter.answer,
        )
        for event in await session.events():
            renderer.show(event)
        async with session.stream(request.prompt, attachments=request.attachments) as turn:
            async for event in turn:
                renderer.show(event)
            result = await turn.result()
        renderer.finish(result)
        return result.stop_reason


async def _prepared_agent(client: AsyncSandboxAgent, agent: str, prompter: TerminalPrompter) -> AgentInfo:
    """Install a missing agent, with progress; say what the user should know before it starts."""
    info = await client.agents.get(agent)
    prompter.check_agent(info)
    if not info.installed:
        await client.agents.install(agent, on_progress=show_progress)
    if not info.credentials_available:
        click.echo(f"no credentials for {agent} were found; see `sandbox-agent credentials status`", err=True)
    return info
