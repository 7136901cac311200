"""The keyword arguments that every way of making a client understands."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TypedDict

import httpx

from sandbox_agent.sdk.session.callbacks import OnPermission, OnQuestion
from sandbox_agent.sdk.session.history.restorer import RestorePolicy
from sandbox_agent.sdk.stores import SessionStore

StoreLike = SessionStore | str | PathLike[str]
"""A store, or the path of an SQLite file."""


class CommonOptions(TypedDict, total=False):
    """Options of `connect` and `start` alike."""

    timeout: float
    """Seconds for control requests; prompts have no limit of their own. Default 60."""
    max_retries: int
    """How often a request that may be repeated is repeated. Default 2."""
    headers: Mapping[str, str]
    """Sent with every request."""
    store: StoreLike | None
    """Where sessions are kept. Default: in memory."""
    persist: StoreLike | None
    """Another name of `store`."""
    on_permission: OnPermission | None
    on_question: OnQuestion | None
    permission_timeout: float | None
    """Seconds after which an unanswered permission is cancelled; never approved."""
    elicitation: bool | None
    """Whether agents may ask with forms. Default: if there is an `on_question`."""
    restore: RestorePolicy
    """Which ways to bring a conversation back are allowed. Default `auto`: the best that works."""
    replay_max_events: int
    """How much of a conversation is told to an agent that cannot restore it. Default 50."""
    replay_max_chars: int
    """Default 12000."""
    default_directory: str | None
    """Where sessions work that name no directory."""
    callbacks_in_threads: bool
    """Run callbacks that are not async in threads. Default: only in `SandboxAgent`."""


class ConnectOptions(CommonOptions, total=False):
    """Further options of `connect`."""

    http_client: httpx.AsyncClient | None
    """An HTTP client of your own; it is not closed."""
    transport: httpx.AsyncBaseTransport | None
    keep_running: bool
    """Leave agent processes running when the client closes, to reattach later. Default False."""
