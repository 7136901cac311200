"""`sandbox-agent install-agent`: install agents on this machine, with progress on the terminal.

The result goes to stdout as JSON, in the form of `POST /v1/agents/{agent}/install`; progress, errors and the
summary of --all go to stderr. A failed agent does not stop the others; the exit code is then 1.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any, Protocol

import click
import msgspec

from sandbox_agent import settings
from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError
from sandbox_agent.agents.install.install_progress import Progress
from sandbox_agent.agents.install.installer import Installer
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.http import problems
from sandbox_agent.http.endpoints.agents.agent_bodies import InstallResult
from sandbox_agent.terminal_text import cut, printable

_BAR_WIDTH = 20


@click.command(name="install-agent")
@click.argument("agent", required=False)
@click.option("--all", "install_all", is_flag=True, help="Install all agents that can be installed.")
@click.option("-r", "--reinstall", is_flag=True, help="Install again, also if installed.")
@click.option("--agent-version", help="Version of the vendor's own program.")
@click.option("--agent-process-version", help="Version of the ACP adapter.")
@click.option(
    "--agents-file", type=click.Path(path_type=Path), help="Catalogue of additional agents (agents.toml)."
)
def install_agent(
    agent: str | None,
    install_all: bool,
    reinstall: bool,
    agent_version: str | None,
    agent_process_version: str | None,
    agents_file: Path | None,
) -> None:
    """Install AGENT, or all agents with --all (or `all` as AGENT)."""
    if install_all and agent not in (None, "all"):
        raise click.UsageError("name an agent or use --all, not both")
    install_all = install_all or agent == "all"
    if not install_all and agent is None:
        raise click.UsageError("name an agent, or use --all")
    if install_all and (agent_version or agent_process_version):
        raise click.UsageError("a version can be chosen for one agent only")
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
    if not install_all:
        failed = asyncio.run(_install_one(catalog, agent or "", options))
    else:
        failed = asyncio.run(_install_all(catalog, {"reinstall": reinstall}))
    if failed:
        raise SystemExit(1)


async def _install_one(catalog: Catalog, agent: str, options: dict[str, Any]) -> bool:
    with _progress_output() as display:
        result = await _install(catalog, agent, options, display)
    if isinstance(result, SandboxAgentError):
        _print_error(result)
        return True
    click.echo(json.dumps(result, indent=2))
    return False


async def _install_all(catalog: Catalog, options: dict[str, Any]) -> bool:
    """One after the other, because parallel installs would only share the same network."""
    agents = [agent for agent in catalog.ids() if _is_installable(catalog, agent)]
    results: list[dict[str, Any]] = []
    failures: list[SandboxAgentError] = []
    with _progress_output() as display:
        for agent in agents:
            result = await _install(catalog, agent, options, display)
            if isinstance(result, SandboxAgentError):
                failures.append(result)
                results.append({"id": agent, "error": msgspec.to_builtins(problems.document(result))})
            else:
                results.append({"id": agent, **result})
    click.echo(json.dumps({"agents": results}, indent=2))
    for failure in failures:
        _print_error(failure)
    click.echo(_summary(results), err=True)
    return bool(failures)


def _summary(results: list[dict[str, Any]]) -> str:
    failed = [result["id"] for result in results if "error" in result]
    unchanged = sum(result.get("already_installed", False) for result in results)
    new = len(results) - len(failed) - unchanged
    parts = [f"{new} installed", f"{unchanged} already there", f"{len(failed)} failed"]
    return f"{len(results)} agents: {', '.join(parts)}" + (f" ({', '.join(failed)})" if failed else "")


def _is_installable(catalog: Catalog, agent: str) -> bool:
    spec = catalog.get(agent)
    return bool(spec.install or spec.registry)


async def _install(
    catalog: Catalog, agent: str, options: dict[str, Any], display: _ProgressLines
) -> dict[str, Any] | SandboxAgentError:
    installer = Installer(catalog, InstallLayout(settings.default_data_directory()))
    try:
        installed = await installer.install(
            agent, **options, progress=lambda progress: display.show(agent, progress)
        )
    except SandboxAgentError as error:
        display.finish(agent, "failed", done=False)
        return error
    finally:
        await installer.aclose()
    if installed.already_installed:
        display.finish(agent, "already installed", done=True)
    return msgspec.to_builtins(InstallResult.of(installed))  # type: ignore[no-any-return]


def _print_error(error: SandboxAgentError) -> None:
    details = error.extensions.get("details") or {}
    click.echo(f"{error.detail}\n{details.get('stderr', '')}".strip(), err=True)


class _ProgressLines(AbstractContextManager["_ProgressLines"]):
    """Progress as lines on stderr, for logs and pipes: one for each step."""

    def __init__(self) -> None:
        self._last: dict[str, str] = {}

    def show(self, agent: str, progress: Progress) -> None:
        if self._last.get(agent) != progress.step:
            self._last[agent] = progress.step
            click.echo(f"{agent}: {progress.message}", err=True)

    def finish(self, agent: str, outcome: str, *, done: bool) -> None:
        """Show the outcome of an agent that has reported none."""
        click.echo(f"{agent}: {outcome}", err=True)

    def __exit__(self, *_: object) -> None:
        return None


class _Bar(Protocol):
    """A progress bar of click, which has no public name for the class."""

    pos: int

    def update(self, n_steps: int, current_item: str | None = None) -> None: ...


class _ProgressBars(_ProgressLines):
    """Progress as bars on a terminal, one per agent and one after the other, as the installs are."""

    def __init__(self) -> None:
        super().__init__()
        self._shown = ExitStack()
        self._agent = ""
        self._bar: _Bar | None = None

    def __exit__(self, *_: object) -> None:
        self._shown.close()

    def show(self, agent: str, progress: Progress) -> None:
        size = f"{progress.bytes // 1_000_000} MB  " if progress.bytes else ""
        self._update(agent, f"{size}{progress.message}", progress.percent)

    def finish(self, agent: str, outcome: str, *, done: bool) -> None:
        self._update(agent, outcome, 100 if done else None)

    def _update(self, agent: str, text: str, percent: int | None) -> None:
        if self._bar is None or agent != self._agent:
            self._shown.close()
            self._agent, self._bar = agent, self._shown.enter_context(_bar(agent))
        steps = 0 if percent is None else percent - self._bar.pos
        self._bar.update(steps, text)


def _bar(agent: str) -> AbstractContextManager[_Bar]:
    label = f"{agent:>15}"
    # Beside the text are two spaces between the parts, the brackets of the bar and the percentage.
    room = shutil.get_terminal_size().columns - len(label) - _BAR_WIDTH - len("  []  100%  ") - 1
    return click.progressbar(
        length=100,
        label=label,
        width=_BAR_WIDTH,
        show_eta=False,
        item_show_func=lambda text: cut(printable(text or ""), room),
        file=sys.stderr,
        # A new step is shown although the percentage is the same.
        update_min_steps=0,
    )


def _progress_output() -> _ProgressLines:
    return _ProgressBars() if sys.stderr.isatty() else _ProgressLines()
