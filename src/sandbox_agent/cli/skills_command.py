"""`sandbox-agent skills`: the configured skills of a directory, installed for an agent process.

Runs in the sandbox, for clients that can neither clone repositories nor load the SDK, such as the inspector
page. The files are read and written as by the SDK, so both share one manifest; the server it works with is
in this process and has no token.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import click

from sandbox_agent.cli.lazy_group import LazyGroup
from sandbox_agent.http.app import create_app
from sandbox_agent.sdk.errors import SandboxAgentError
from sandbox_agent.sdk.providers.asgi_provider import ASGI_URL
from sandbox_agent.sdk.providers.asgi_transport import StreamingAsgiTransport
from sandbox_agent.sdk.resources.config import AsyncConfig
from sandbox_agent.sdk.resources.files import AsyncFiles
from sandbox_agent.sdk.session.skills.discovery import fetch_skills
from sandbox_agent.sdk.session.skills.manifest import Holder
from sandbox_agent.sdk.session.skills.skill_directory import SkillDirectory
from sandbox_agent.sdk.session.skills.skill_source import parse_sources
from sandbox_agent.sdk.transport.http_api import HttpApi
from sandbox_agent.settings import Settings

_directory = click.option(
    "-d",
    "--directory",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="The directory with the config; by default this one.",
)
_session = click.option("--session", required=True, help="Name of the session that uses the skills.")


@click.group(cls=LazyGroup)
def skills() -> None:
    """Install the configured skills of a directory for an agent, and remove them."""


@skills.command()
@_directory
@_session
@click.option("--into", required=True, metavar="FOLDER", help="Where the agent looks: .claude/skills.")
@click.option("--pid", type=int, required=True, help="The agent's process: without it the skills are unused.")
@click.option("--server-id", default="", help="The agent's instance, for other clients of the server.")
@click.option("--created-at-ms", type=int, help="When the instance was created.")
def install(
    directory: str, session: str, into: str, pid: int, server_id: str, created_at_ms: int | None
) -> None:
    """Put the skills into FOLDER; prints those that were not installed, and why, as JSON."""
    directory = os.path.abspath(directory)
    holder = Holder(server_id, created_at_ms, pid)

    async def work(api: HttpApi) -> dict[str, str]:
        entries = await AsyncConfig(api).skills.list(directory)
        sources = [one for name in sorted(entries) for one in parse_sources(entries[name], trusted=False)]
        found = await fetch_skills(AsyncFiles(api), directory, sources)
        return await SkillDirectory(api, directory).install(session, holder, found, into)

    click.echo(json.dumps(_run(work)))


@skills.command()
@_directory
@_session
def remove(directory: str, session: str) -> None:
    """Remove the skills that no other session uses."""
    directory = os.path.abspath(directory)
    _run(lambda api: SkillDirectory(api, directory).release(session))


def _run(work: Callable[[HttpApi], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        async with _server_in_process() as api:
            return await work(api)

    try:
        return asyncio.run(run())
    except SandboxAgentError as error:
        raise click.ClickException(str(error)) from error


@asynccontextmanager
async def _server_in_process() -> AsyncIterator[HttpApi]:
    async with StreamingAsgiTransport(create_app(Settings())) as transport:
        api = HttpApi(ASGI_URL, transport=transport)
        try:
            yield api
        finally:
            await api.aclose()
