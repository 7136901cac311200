"""The connection of a command to its server: address, token, and how a call is run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar
from urllib.parse import urlsplit

import click

from sandbox_agent.cli.daemon.daemon_files import DaemonFiles
from sandbox_agent.cli.token_options import given_token, token_choice, token_file_option
from sandbox_agent.sdk.transport.http_api import HttpApi

_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# A daemon on all addresses can be reached on loopback.
_EVERYWHERE = ("0.0.0.0", "::")  # noqa: S104 - part of file names, nothing listens here
DEFAULT_ENDPOINT = "http://127.0.0.1:2468"
Result = TypeVar("Result")


class ApiConnection:
    """The server a command talks to."""

    def __init__(self, endpoint: str, token: str | None) -> None:
        self.endpoint = endpoint.rstrip("/")
        self._token = token

    def run(self, call: Callable[[HttpApi], Awaitable[Result]]) -> Result:
        """Run one exchange with the server."""

        async def exchange() -> Result:
            api = HttpApi(self.endpoint, token=self._token)
            try:
                return await call(api)
            finally:
                await api.aclose()

        return asyncio.run(exchange())


def with_connection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--endpoint` and `--token-file` to a command, whose function gets a `ApiConnection` first."""

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
        return command(ApiConnection(endpoint, token), *args, **values)

    return connected


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
    hosts = [address.hostname, *(_EVERYWHERE if address.hostname in _LOOPBACK else ())]
    found = (DaemonFiles.of(host, address.port or 80).running_token() for host in hosts)
    return next((token for token in found if token is not None), None)
