"""The connection of a command to its server: address, token, and how a call is run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any, TypeVar

import click

from sandbox_agent.cli.api.server_token import token_for
from sandbox_agent.cli.options.token_options import token_file_option
from sandbox_agent.sdk import json_codec
from sandbox_agent.sdk.default_address import DEFAULT_URL
from sandbox_agent.sdk.transport.http_api import HttpApi

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

    def request(self, method: str, path: str, **options: Any) -> Any:
        """Send one request and return the JSON of its response; `options` as for `HttpApi.request`."""
        return json_codec.decode(self.run(lambda api: api.request(method, path, **options)).content)


def with_connection(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--endpoint` and `--token-file` to a command, whose function gets a `ApiConnection` first."""

    @click.option(
        "-e",
        "--endpoint",
        envvar="SANDBOX_AGENT_URL",
        default=DEFAULT_URL,
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
