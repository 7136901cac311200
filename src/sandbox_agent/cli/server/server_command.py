"""`sandbox-agent server`: read the settings, check them, and run the server."""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Sequence

from sandbox_agent.cli.server import settings_parser
from sandbox_agent.cli.server.settings_parser import HelpRequested
from sandbox_agent.settings import Settings, SettingsError

_USAGE = """Usage: sandbox-agent server [OPTIONS]

  Run the server. With no options it listens on 127.0.0.1:2468, for this machine only.

Options (each can also be set by the variable below it):
"""


def run(arguments: Sequence[str]) -> int:
    """Run the server; returns the exit code."""
    try:
        settings = settings_parser.parse(arguments, os.environ)
        return _serve(settings)
    except HelpRequested:
        print(_USAGE + settings_parser.help_text() + "\n  -h, --help\n      show this help")
        return 0
    except SettingsError as error:
        print(f"sandbox-agent: {error}", file=sys.stderr)
        return 2


def _check_agents_file(settings: Settings) -> None:
    """Report an error in the agents file or in --agents at start, not with the first request."""
    own = settings.own_agents_file
    if own is None and settings.agents is None:
        return
    # Loads the TOML parser, which a server without agents of the user does not need at start-up.
    from sandbox_agent.agents.catalog.catalog import Catalog, CatalogError

    try:
        Catalog.load(own, settings.agents)
    except CatalogError as error:
        raise SettingsError(str(error)) from error


def _check_fs_root(settings: Settings) -> None:
    """Report a missing root at start, not with the first request."""
    if settings.fs_root is not None and not os.path.isdir(settings.fs_root):
        raise SettingsError(f"--fs-root is not a directory: {settings.fs_root}")


def _check_agent_user(settings: Settings) -> None:
    """Report an impossible agent user at start, not with the first agent."""
    if settings.agent_user is None:
        return
    try:
        entry = pwd.getpwnam(settings.agent_user)
    except KeyError:
        raise SettingsError(f"--agent-user: there is no user '{settings.agent_user}'") from None
    if os.geteuid() not in (0, entry.pw_uid):
        raise SettingsError("--agent-user needs a server that runs as root")


def _check_warm(settings: Settings) -> None:
    """Report a wrong `--warm` at start."""
    if not settings.warm:
        return
    from sandbox_agent.agents.catalog.catalog import Catalog  # only with --warm
    from sandbox_agent.bridge.warm_target import parse_targets

    own = settings.own_agents_file
    catalog = Catalog.load(own, settings.agents) if own or settings.agents else Catalog()
    for target in parse_targets(settings.warm):
        if target.agent not in catalog:
            raise SettingsError(f"--warm: there is no agent '{target.agent}'")
        if target.cwd is not None and not os.path.isdir(target.cwd):
            raise SettingsError(f"--warm: there is no directory '{target.cwd}'")


def _serve(settings: Settings) -> int:
    # Not imported by `server --help`.
    from sandbox_agent import logs
    from sandbox_agent.http import serve

    serve.check_exposure(settings)
    _check_agents_file(settings)
    _check_fs_root(settings)
    _check_agent_user(settings)
    _check_warm(settings)
    try:
        logs.set_up(settings.log_level, settings.log_format)
    except OSError as error:
        print(f"sandbox-agent: cannot write the log: {error}", file=sys.stderr)
        return 1
    try:
        serve.serve(settings)
    except OSError as error:
        print(
            f"sandbox-agent: cannot listen on {settings.host}:{settings.port}: {error.strerror or error}",
            file=sys.stderr,
        )
        return 1
    sys.stderr.flush()
    # A worker thread that hangs on a dead disk must not keep the process alive.
    os._exit(0)
