"""`sandbox-agent rollouts serve OUTPUT`: the page over an output directory."""

from __future__ import annotations

import signal
import webbrowser
from pathlib import Path

import click

from sandbox_agent.cli.options.token_options import given_token, token_choice, token_file_option
from sandbox_agent.cli.rollouts.page_routes import START, PageRoutes
from sandbox_agent.http.access.access_check import COMMON_HEADERS, AccessCheck
from sandbox_agent.http.http1.options import Http1Options
from sandbox_agent.http.http1.server import Http1Server
from sandbox_agent.http.serve import check_exposure
from sandbox_agent.rollouts.output.output_overview import OutputOverview
from sandbox_agent.runtime.loop import Loop
from sandbox_agent.settings import Settings, SettingsError

DEFAULT_PORT = 2470


@click.command()
@click.argument("output", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=DEFAULT_PORT, show_default=True, help="0: any."
)
@click.option("--open", "open_page", is_flag=True, help="Open the page in the browser.")
@token_file_option
@click.pass_context
def serve(
    ctx: click.Context, output: Path, host: str, port: int, open_page: bool, token_file: str | None
) -> None:
    """Show an output directory in the browser: a table of its runs, their replay, two of them side by side.

    A batch may still be writing to it.
    """
    token = given_token(ctx, token_file)
    settings = Settings(host=host, port=port, token=token, no_token=token_choice(ctx).no_token)
    loop = Loop()
    overview = OutputOverview(output)
    overview.rows()  # A package that is missing is told here, not with every request.
    try:
        check_exposure(settings)
        routes = PageRoutes(overview, AccessCheck(settings), loop)
        server = Http1Server(loop, routes, _options(settings))
        bound = server.start(host, port)
    except (SettingsError, OSError) as error:
        raise click.ClickException(str(error)) from error
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.on_signal(number, loop.stop)
    shown = f"[{host.strip('[]')}]" if ":" in host else host
    address = f"http://{shown}:{bound}{START}"
    click.echo(address)
    if open_page:
        webbrowser.open(address + (f"#token={token}" if token else ""))
    loop.run()


def _options(settings: Settings) -> Http1Options:
    return Http1Options(
        max_header_bytes=settings.max_header_bytes,
        request_timeout_s=settings.request_timeout_ms / 1000,
        keep_alive_s=settings.keep_alive_ms / 1000,
        write_timeout_s=settings.write_timeout_ms / 1000,
        problem_headers=COMMON_HEADERS,
    )
