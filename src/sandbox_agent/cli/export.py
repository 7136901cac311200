"""`sandbox-agent export`: stored conversations as Markdown, chat messages for training, or ATIF."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import cast

import click

from sandbox_agent.cli.run.turn_runner import conversation_store
from sandbox_agent.sdk.client.client_store import open_store
from sandbox_agent.sdk.session.history.session_export import export_session
from sandbox_agent.sdk.stores import SessionStore
from sandbox_agent.sdk.transcripts.transcript import TRANSCRIPT_FORMATS, TranscriptFormat

PAGE = 100


@click.command()
@click.argument("sessions", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Export every session of the store.")
@click.option(
    "-f",
    "--format",
    type=click.Choice(TRANSCRIPT_FORMATS),
    default="markdown",
    show_default=True,
    help="Markdown to read, chat messages for training (a JSON line for each session), or a trajectory "
    "(ATIF v1.8).",
)
@click.option(
    "--store",
    metavar="PATH|URL",
    help="SQLite file or postgresql:// URL; by default the conversations of `run --session`.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="File to write.")
def export(
    sessions: tuple[str, ...], everything: bool, format: str, store: str | None, output: Path | None
) -> None:
    """Write the transcripts of SESSIONS to stdout or to a file. Needs no agent and no server.

    Without SESSIONS the ids of the stored sessions are listed.
    """
    if everything and sessions:
        raise click.UsageError("give names of sessions or --all, not both")
    if format == "atif" and (everything or len(sessions) > 1):
        raise click.UsageError("a file of ATIF holds one session; export them one by one")
    if store is not None and "://" not in store and not Path(store).is_file():
        raise click.UsageError(f"there is no store {store}")
    text = asyncio.run(_exported(store, sessions, everything, cast(TranscriptFormat, format)))
    if output is not None:
        output.write_text(text, encoding="utf-8")
    else:
        click.echo(text, nl=False)


async def _exported(
    place: str | None, sessions: tuple[str, ...], everything: bool, format: TranscriptFormat
) -> str:
    store = open_store(place or conversation_store())
    try:
        if not sessions and not everything:
            return "".join(f"{name}\n" for name in await _names(store))
        wanted = await _names(store) if everything else sessions
        texts = [await export_session(store, name, format) for name in wanted]
    finally:
        await store.close()
    return ("\n" if format == "markdown" else "").join(texts)


async def _names(store: SessionStore) -> list[str]:
    names: list[str] = []
    cursor: str | None = None
    while True:
        page = await store.list_sessions(cursor=cursor, limit=PAGE)
        names += [record.id for record in page.items]
        cursor = page.next_cursor
        if cursor is None:
            return names
