"""The store of a client: opened from a path or a URL, and closed with the client if it was opened here."""

from __future__ import annotations

import asyncio
import logging
import re
from os import PathLike

from sandbox_agent.sdk.client.client_options import StoreLike
from sandbox_agent.sdk.stores import MemoryStore, PostgresStore, SessionStore, SqliteStore

log = logging.getLogger("sandbox_agent")

# A database that does not answer must not keep the program from ending.
CLOSE_STORE_S = 5.0
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")
_POSTGRES_IN_ANOTHER_FORM = re.compile(r"\s*postgres(ql)?:|[^/\\]*:[^/\\]*@|[\w.-]+:\d+/")
"""What would be a strange name of a file and is a usual mistake: `postgresql:db`, `user:secret@host/db`."""
_CONNECTION_STRING = re.compile(r"\s*(host|hostaddr|port|dbname|user|service)\s*=")


def open_store(store: StoreLike | None) -> SessionStore:
    """The store for `store=`: a store, the path of an SQLite file, or the URL of a Postgres database."""
    if store is None:
        return MemoryStore()
    if isinstance(store, PathLike):
        return SqliteStore(store)
    if isinstance(store, str):
        return _store_by_text(store)
    if not isinstance(store, SessionStore):
        raise TypeError(
            f"store is a SessionStore, the path of an SQLite file or a postgresql:// URL, not {store!r}"
        )
    return store


async def close_store(store: SessionStore) -> None:
    """Close a store, with a limit."""
    try:
        async with asyncio.timeout(CLOSE_STORE_S):
            await store.close()
    except TimeoutError:
        log.warning("the store did not close within %g s", CLOSE_STORE_S)


def _store_by_text(text: str) -> SessionStore:
    scheme = _SCHEME.match(text)
    if scheme is None:
        if _CONNECTION_STRING.match(text):
            raise ValueError("a connection string of Postgres is given as store=PostgresStore(...)")
        if _POSTGRES_IN_ANOTHER_FORM.match(text):
            raise ValueError("the store is no URL: that of a Postgres database begins with postgresql://")
        if text.startswith("sqlite:"):
            raise ValueError(f"the store {text!r} is given by its path, without 'sqlite:'")
        if not text.strip():
            raise ValueError("the store is an empty text; a store is a path (SQLite) or a postgresql:// URL")
        return SqliteStore(text)
    if scheme[1] in ("postgresql", "postgres"):
        return PostgresStore(text)
    if scheme[1] in ("sqlite", "file"):
        raise ValueError(f"the store {text!r} is given by its path, without {scheme[0]!r}")
    raise ValueError(f"no store for {scheme[0]!r}; a store is a path (SQLite) or a postgresql:// URL")
