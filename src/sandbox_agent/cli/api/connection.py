"""From the command line to a server: which one, with which token, and how a call is run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from sandbox_agent.cli.token_options import choice_of, given_token, token_file_option
from sandbox_agent.sdk.transport.http_api import HttpApi

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A daemon that listens on all addresses listens on loopback too.
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - names of files, nothing listens here
DEFAULT_ENDPOINT = "http://127.0.0.1:2468"
Result = TypeVar("Result")


class Connection:
    """The server a command talks to."""

    def __init__(self, endpoint: str, token: str | None) -> None:
        self.endpoint = endpoint.rstrip("/")
        self._token = token

    def run(self, call: Callable[[HttpApi], Awaitable[Result]]) -> Result:
        """Run one conversation with the server to its end."""

        async def conversation() -> Result:
            api = HttpApi(self.endpoint, token=self._token)
            try:
                return await call(api)
            finally:
                await api.aclose()

        return asyncio.run(conversation())


def with_connection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--endpoint` and `--token-file` to a command, whose function gets a `Connection` first."""

    @click.option(
        "-e",
        "--endpoint",
        envvar="SANDBOX_AGENT_URL",
        default=DEFAULT_ENDPOINT,
        show_default=True,
        show_envvar=True,
        help="Address of the server.",
    )
    @token_file_option
    @click.pass_context
    @wraps(command)
    def connected(
        ctx: click.Context, /, *args: Any, endpoint: str, token_file: str | None, **values: Any
    ) -> Any:
        token = token_for(ctx, endpoint, token_file)
        return command(Connection(endpoint, token), *args, **values)

    return connected


def token_for(ctx: click.Context, endpoint: str, token_file: str | None) -> str | None:
    """The token for a server: the one that was given, or that of our own daemon if it listens there."""
    if urlsplit(endpoint).scheme not in ("http", "https"):
        raise click.UsageError(f"--endpoint must be an http or https address, not '{endpoint}'")
    token = given_token(ctx, token_file)
    if token is None and not choice_of(ctx).no_token:
        return _token_of_local_daemon(endpoint)
    return token


def _token_of_local_daemon(endpoint: str) -> str | None:
    """The token of our own daemon, if that is who listens there."""
    from sandbox_agent.cli.daemon.state import DaemonFiles  # only when no token was given

    address = urlsplit(endpoint)
    if address.hostname is None or address.scheme != "http":
        return None
    hosts = [address.hostname, *(_EVERYWHERE if address.hostname in _LOOPBACK else ())]
    found = (DaemonFiles.of(host, address.port or 80).token_of_living() for host in hosts)
    return next((token for token in found if token is not None), None)
