"""The token that a command sends to a server."""

from __future__ import annotations

from urllib.parse import urlsplit

import click

from sandbox_agent.cli.daemon.daemon_files import DaemonFiles
from sandbox_agent.cli.options.token_options import given_token, token_choice
from sandbox_agent.http.loopback import is_loopback

# A daemon on all addresses can be reached on loopback.
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - part of file names, nothing listens here


def token_for(ctx: click.Context, endpoint: str, token_file: str | None) -> str | None:
    """The token for a server: the given one, or that of our daemon if it listens there."""
    if urlsplit(endpoint).scheme not in ("http", "https"):
        raise click.UsageError(f"--endpoint must be an http or https address, not '{endpoint}'")
    token = given_token(ctx, token_file)
    if token is None and not token_choice(ctx).no_token:
        return _token_of_local_daemon(endpoint)
    return token


def _token_of_local_daemon(endpoint: str) -> str | None:
    """The token of our daemon, if it listens on that address."""
    address = urlsplit(endpoint)
    if address.hostname is None or address.scheme != "http":
        return None
    hosts = [address.hostname, *(_EVERYWHERE if is_loopback(address.hostname) else ())]
    found = (DaemonFiles.of(host, address.port or 80).running_token() for host in hosts)
    return next((token for token in found if token is not None), None)
