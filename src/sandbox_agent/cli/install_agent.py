"""`sandbox-agent install-agent`: put agents on this machine, with progress on the terminal.

The answer goes to stdout as JSON, in the form of `POST /v1/agents/{agent}/install`; progress, faults and the
summary of --all go to stderr. One agent that fails does not stop the others; the exit code is then 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from sandbox_agent import settings
from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError
from sandbox_agent.agents.install.installer import Installer
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.install.progress import Progress
from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.endpoints.agent_bodies import InstallResult

if TYPE_CHECKING:
    from rich.progress import TaskID


@click.command(name="install-agent")
@click.argument("agent", required=False)
@click.option("--all", "every", is_flag=True, help="Install every agent that can be installed.")
@click.option("-r", "--reinstall", is_flag=True, help="Install again what is already there.")
@click.option("--agent-version", help="Version of the vendor's own program.")
@click.option("--agent-process-version", help="Version of the ACP adapter.")
@click.option("--agents-file", type=click.Path(path_type=Path), help="Your own agents (agents.toml).")
def install_agent(
    agent: str | None,
    every: bool,
    reinstall: bool,
    agent_version: str | None,
    agent_process_version: str | None,
    agents_file: Path | None,
) -> None:
    """Install AGENT, or all of them with --all (or the word `all`)."""
    if every and agent not in (None, "all"):
        raise click.UsageError("name an agent or use --all, not both")
    every = every or agent == "all"
    if not every and agent is None:
        raise click.UsageError("name an agent, or use --all")
    if every and (agent_version or agent_process_version):
        raise click.UsageError("versions are chosen for one agent, not for all")
    named = os.environ.get("SANDBOX_AGENT_AGENTS_FILE")
    try:
        catalog = Catalog.load(agents_file or (Path(named) if named else None))
    except CatalogError as error:
        raise click.ClickException(str(error)) from error
    options = {
        "reinstall": reinstall,
        "agent_version": agent_version,
        "agent_process_version": agent_process_version,
    }
    if not every:
        failed = asyncio.run(_install_one(catalog, agent or "", options))
    else:
        failed = asyncio.run(_install_all(catalog, {"reinstall": reinstall}))
    if failed:
        raise SystemExit(1)


async def _install_one(catalog: Catalog, agent: str, options: dict[str, Any]) -> bool:
    with _display() as display:
        answer = await _install(catalog, agent, options, display)
    if isinstance(answer, SandboxAgentError):
        _complain(agent, answer)
        return True
    click.echo(json.dumps(answer, indent=2))
    return False


async def _install_all(catalog: Catalog, options: dict[str, Any]) -> bool:
    """One after the other: side by side they would only share the same network."""
    agents = [agent for agent in catalog.ids() if _is_installable(catalog, agent)]
    answers: list[dict[str, Any]] = []
    failures: dict[str, SandboxAgentError] = {}
    with _display() as display:
        for agent in agents:
            answer = await _install(catalog, agent, options, display)
            if isinstance(answer, SandboxAgentError):
                failures[agent] = answer
                answers.append({"id": agent, "error": msgspec.to_builtins(problems.document(answer))})
            else:
                answers.append({"id": agent, **answer})
    click.echo(json.dumps({"agents": answers}, indent=2))
    for agent, failure in failures.items():
        _complain(agent, failure)
    click.echo(_summary(answers), err=True)
    return bool(failures)


def _summary(answers: list[dict[str, Any]]) -> str:
    failed = [answer["id"] for answer in answers if "error" in answer]
    there = sum(answer.get("already_installed", False) for answer in answers)
    fresh = len(answers) - len(failed) - there
    parts = [f"{fresh} installed", f"{there} already there", f"{len(failed)} failed"]
    return f"{len(answers)} agents: {', '.join(parts)}" + (f" ({', '.join(failed)})" if failed else "")


def _is_installable(catalog: Catalog, agent: str) -> bool:
    spec = catalog.get(agent)
    return bool(spec.install or spec.registry)


async def _install(
    catalog: Catalog, agent: str, options: dict[str, Any], display: _Display
) -> dict[str, Any] | SandboxAgentError:
    installer = Installer(catalog, InstallLayout(settings.default_data_directory()))
    try:
        result = await installer.install(
            agent, **options, progress=lambda progress: display.show(agent, progress)
        )
    except SandboxAgentError as error:
        display.finish(agent, "failed", done=False)
        return error
    finally:
        await installer.aclose()
    if result.already_installed:
        display.finish(agent, "already installed", done=True)
    return msgspec.to_builtins(InstallResult.of(result))  # type: ignore[no-any-return]


def _complain(agent: str, error: SandboxAgentError) -> None:
    details = error.extensions.get("details") or {}
    click.echo(f"{error.detail}\n{details.get('stderr', '')}".strip(), err=True)


class _Display(AbstractContextManager["_Display"]):
    """Progress as lines on stderr, for logs and pipes: one whenever the step changes."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def show(self, agent: str, progress: Progress) -> None:
        if self._last.get(agent) != progress.step:
            self._last[agent] = progress.step
            click.echo(f"{agent}: {progress.message}", err=True)

    def finish(self, agent: str, how: str, *, done: bool) -> None:
        """The last word on an agent, if its progress has not said it."""
        click.echo(f"{agent}: {how}", err=True)

    def __exit__(self, *_: object) -> None:
        return None


class _Bars(_Display):
    """Progress as bars on a terminal, one an agent."""

    def __init__(self) -> None:
        super().__init__()
        # Imported here: only a terminal needs it.
        from rich.console import Console
        from rich.progress import BarColumn, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress

        columns = (
            TextColumn("{task.fields[agent]:>15}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[size]}"),
            TextColumn("{task.description}"),
        )
        self._bars = RichProgress(*columns, console=Console(stderr=True))
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bars:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def show(self, agent: str, progress: Progress) -> None:
        self._bars.update(
            self._task(agent),
            description=progress.message,
            size=f"{progress.bytes // 1_000_000} MB" if progress.bytes else "",
            completed=progress.percent,
        )

    def finish(self, agent: str, how: str, *, done: bool) -> None:
        self._bars.update(self._task(agent), description=how, completed=100 if done else None)

    def _task(self, agent: str) -> TaskID:
        if agent not in self._tasks:
            self._tasks[agent] = self._bars.add_task("", total=100, agent=agent, size="")
        return self._tasks[agent]


def _display() -> _Display:
    return _Bars() if sys.stderr.isatty() else _Display()
