"""The local form: the agent runs here, on the editor's own stdin and stdout.

The agent inherits both descriptors, so no byte is copied or changed. This process installs a missing agent,
waits for the end of the agent or of the editor, and ends the whole process tree. A watchdog ends the tree if
this process is killed (`TaggedTree`).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from pathlib import Path
from typing import NoReturn

import click

from sandbox_agent import settings
from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError
from sandbox_agent.agents.install.layout import InstallLayout
from sandbox_agent.agents.launch.launcher import Launcher
from sandbox_agent.agents.launch.tagged_tree import TaggedTree
from sandbox_agent.bridge.launch_spec import LaunchSpec
from sandbox_agent.bridge.process.exit_descriptor import open_exit_descriptor
from sandbox_agent.bridge.process.inherited_environment import inherited_environment
from sandbox_agent.cli.acp.editor import STDIN, STDOUT, Editor
from sandbox_agent.cli.acp.ending import EDITOR_END_GRACE_S, Ending
from sandbox_agent.cli.acp.missing_agent import install
from sandbox_agent.errors import SandboxAgentError
from sandbox_agent.runtime.server_executable import server_executable

_TERM_GRACE_S = 2.0
_SIGNALLED = 128  # a shell reports the end by signal N as 128 + N


def run_local(agent: str, agents_file: Path | None) -> int:
    """Run the agent until it or the editor ends; returns the exit code."""
    ending = Ending()
    named = os.environ.get("SANDBOX_AGENT_AGENTS_FILE")
    try:
        catalog = Catalog.load(agents_file or (Path(named) if named else None))
    except CatalogError as error:
        raise click.ClickException(str(error)) from error
    try:
        launch = _prepare(catalog, agent, ending)
        return 0 if launch is None else _run(launch, ending)
    except (SandboxAgentError, OSError) as error:
        reason = error.detail if isinstance(error, SandboxAgentError) else str(error)
        click.echo(f"sandbox-agent: {reason}", err=True)
        ending.release()
        Editor().refuse_first_request(reason)
        return 1


def _prepare(catalog: Catalog, agent: str, ending: Ending) -> LaunchSpec | None:
    """How to start the agent, which is installed first if it is missing; None if the editor has ended.

    Raises SandboxAgentError.
    """
    layout = InstallLayout(settings.default_data_directory())
    inherited = inherited_environment(os.environ)
    launcher = Launcher(
        catalog, layout, _no_installer, server_executable=server_executable(), inherited=inherited
    )
    launch = launcher.spec_if_installed(agent)
    if launch is None and install(catalog, layout, agent, ending):
        launch = launcher.spec_if_installed(agent)
    return launch


def _no_installer() -> NoReturn:  # `spec_if_installed` does not call it
    raise NotImplementedError


def _run(launch: LaunchSpec, ending: Ending) -> int:
    """Raises OSError if the agent cannot be started."""
    tree = TaggedTree()
    try:
        process = subprocess.Popen(  # noqa: S603 - running agents is what this program is for
            launch.argv, cwd=launch.cwd, env={**launch.env, **tree.environment}, start_new_session=True
        )
        tree.adopt(process.pid)
        exited = open_exit_descriptor(process.pid)
        agent_ended = _wait_for_end(exited, ending)
        if not agent_ended:
            _terminate(process.pid, exited)
    finally:
        tree.end_now()
    code = process.wait()
    tree.reap()
    if not agent_ended:
        return 0
    return code if code >= 0 else _SIGNALLED - code


def _wait_for_end(exited: int, ending: Ending) -> bool:
    """Wait for the end of the agent (true) or of the editor (false)."""
    poll = select.poll()
    poll.register(exited, select.POLLIN)
    poll.register(ending.descriptor, select.POLLIN)
    # Neither is read or written here: only the hang-up of the editor is reported.
    poll.register(STDIN, select.POLLRDHUP)
    poll.register(STDOUT, 0)
    deadline: float | None = None
    while True:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        ready = {descriptor for descriptor, _ in poll.poll(left)}
        if exited in ready:
            return True
        if not ready or ready & {ending.descriptor, STDOUT}:
            return False
        # The agent sees the end of stdin too and exits by itself, or is ended after the deadline.
        poll.unregister(STDIN)
        deadline = time.monotonic() + EDITOR_END_GRACE_S


def _terminate(pid: int, exited: int) -> None:
    try:
        os.killpg(pid, signal.SIGTERM)
    except ProcessLookupError:
        return
    select.select((exited,), (), (), _TERM_GRACE_S)
