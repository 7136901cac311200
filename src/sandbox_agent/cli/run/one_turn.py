"""One errand: a server, an agent, a session, a turn; and everything ended again."""

from __future__ import annotations

from dataclasses import dataclass

import click

from sandbox_agent.cli.api.install_progress import install
from sandbox_agent.cli.run.renderer import View
from sandbox_agent.cli.run.terminal_prompter import TerminalPrompter
from sandbox_agent.sdk.client.client import AsyncSandboxAgent
from sandbox_agent.sdk.transport.http_api import HttpApi


@dataclass(frozen=True)
class OneTurn:
    agent: str
    prompt: str
    directory: str | None
    attachments: tuple[str, ...] = ()
    model: str | None = None
    mode: str | None = None
    thought_level: str | None = None
    endpoint: str | None = None
    """A server that runs already; None starts one."""
    token: str | None = None


async def hold(errand: OneTurn, person: TerminalPrompter, view: View) -> str:
    """Run the errand to its end; returns the stop reason."""
    if errand.endpoint is None:
        client = await AsyncSandboxAgent.start(default_directory=errand.directory)
    else:
        client = await AsyncSandboxAgent.connect(errand.endpoint, errand.token)
    async with client:
        await _make_ready(client, errand.agent)
        session = await client.sessions.create(
            errand.agent,
            directory=errand.directory,
            model=errand.model,
            mode=errand.mode,
            thought_level=errand.thought_level,
            use_directory_config=True,
            on_permission=person.decide,
            on_question=person.answer,
        )
        for event in await session.events():
            view.show(event)
        async with session.stream(errand.prompt, attachments=errand.attachments) as turn:
            async for event in turn:
                view.show(event)
            result = await turn.result()
        view.finish(result)
        return result.stop_reason


async def _make_ready(client: AsyncSandboxAgent, agent: str) -> None:
    """Install what is missing, with progress, and say beforehand what is going to fail."""
    info = await client.agents.get(agent)
    if not info.installed:
        api = HttpApi(client.base_url, token=client.token)
        try:
            await install(api, agent, {})
        finally:
            await api.aclose()
    if not info.credentials_available:
        click.echo(f"no credentials for {agent} were found; see `sandbox-agent credentials status`", err=True)
